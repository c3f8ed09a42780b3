"""What kernels can do with a job's GPUs; a short job of the user runs this text.

The job's script holds this text, so it stands alone: only Python's own library, for Python 3.9 or
newer. PROBE_QUESTION in the environment is a JSON object, see
`portal.site.checks.gpu_test_job.gpu_probe_input`. What needs a framework is a program of its own,
which the kernel's Python runs.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

MARK = "dsportal-check: "
KERNEL_S = 150.0
LOOK_S = 300.0
ALLREDUCE_S = 120.0
NVIDIA_SMI_S = 30.0
N_RANKS = 2
N_LETTERS = 300
N_SMI_LETTERS = 8000
_NVIDIA_PCI_VENDOR = "0x10de"
# The sound and USB functions of a card have the same vendor.
_PCI_DISPLAY = "0x03"
# Of all that frameworks write, the lines that say why there is no GPU.
_REASON = re.compile(r"cuInit|dlopen|CUDA error|driver version|no kernel image|CUDA_ERROR", re.I)


def main() -> None:
    """Look, and print what was found."""
    # Slurm ends a job by this signal; folders and programs go with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    question = json.loads(os.environ["PROBE_QUESTION"])
    found: dict[str, Any] = {
        "node": socket.gethostname(),
        "given": given_gpus(os.environ),
        "devices": probe_devices(Path(question["root"], "dev")),
        "signs": find_signs(Path(question["root"])),
        # The arguments come along, so that they and their parser stay in one file.
        "nvidia_smi": ask_nvidia_smi(question["nvidia_smi"]),
    }
    found["is_real"] = (
        found["nvidia_smi"]["rc"] == 0
        or "" in found["devices"].values()
        # A machine with a card may hold simulated nodes, which see its driver and not its devices.
        or (any(found["signs"].values()) and not question["is_simulated"])
    )
    give_up_at = time.monotonic() + LOOK_S
    found["kernels"] = {}
    for name, python in read_kernels(Path(question["server"])).items():
        left_s = max(1.0, give_up_at - time.monotonic())
        found["kernels"][name] = ask_kernel(
            python, question["programs"]["frameworks"], min(KERNEL_S, left_s)
        )
    found["allreduce"] = probe_allreduce(question, found)
    print(MARK + json.dumps(found), flush=True)


def given_gpus(environ: Any) -> list[str]:
    """Return the GPUs that Slurm gave this job.

    Args:
        environ: Environment of the job.

    Returns:
        Their names in CUDA_VISIBLE_DEVICES: numbers, or UUIDs for parts of a GPU (MIG).

    Source:
        gres.html of Slurm 22.05 to 25.11, "GPU Management" and "MIG Management".
    """
    return [word for word in environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if word]


def probe_devices(folder: Path) -> dict[str, str]:
    """Open each device file of a GPU.

    Args:
        folder: Folder of the device files.

    Returns:
        What is wrong with each, by its path; empty if nothing.
    """
    # Not nvidiactl, nvidia-uvm and the like, which belong to no single GPU.
    paths = sorted(path for path in folder.glob("nvidia*") if path.name[6:].isdecimal())
    return {str(path): opened(path) for path in paths}


def opened(path: Path) -> str:
    """Open a device file and close it.

    Args:
        path: The file.

    Returns:
        What is wrong; empty if nothing.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        # A device file without a driver behind it, as simulated GPUs have.
        if error.errno in {errno.ENXIO, errno.ENODEV}:
            return "no NVIDIA device"
        return str(error.strerror)
    return ""


def find_signs(root: Path) -> dict[str, bool]:
    """Look for signs that this node has a GPU of NVIDIA's.

    Args:
        root: Where /proc and /sys are.

    Returns:
        "module", whether the driver is loaded, and "pci", whether the node has such a card.
    """
    is_card = False
    for device in root.glob("sys/bus/pci/devices/*"):
        with contextlib.suppress(OSError):
            vendor = (device / "vendor").read_text().strip()
            kind = (device / "class").read_text().strip()
            is_card = is_card or (vendor == _NVIDIA_PCI_VENDOR and kind.startswith(_PCI_DISPLAY))
    return {"module": (root / "proc/driver/nvidia/version").exists(), "pci": is_card}


def ask_nvidia_smi(argv: list[str]) -> dict[str, Any]:
    """Ask for the GPUs and the driver.

    Args:
        argv: The program with its arguments.

    Returns:
        "rc", its exit status (127 if there is none), and "said", what it printed.
    """
    status, output, errors = run(argv, NVIDIA_SMI_S)
    return {"rc": status, "said": (output.strip() or errors.strip())[:N_SMI_LETTERS]}


def read_kernels(server: Path) -> dict[str, str]:
    """Return the Python kernels that the server environment describes.

    Args:
        server: Folder of the server environment.

    Returns:
        Path of each one's Python, by name.
    """
    kernels = {}
    for spec in sorted(server.glob("share/jupyter/kernels/*/kernel.json")):
        with contextlib.suppress(OSError, ValueError, LookupError):
            kernel = json.loads(spec.read_text("utf-8"))
            if kernel.get("language") == "python" and os.access(kernel["argv"][0], os.X_OK):
                kernels[spec.parent.name] = str(kernel["argv"][0])
    return kernels


def ask_kernel(python: str, program: str, timeout_s: float) -> dict[str, Any]:
    """Ask a kernel's Python what its frameworks see.

    Args:
        python: Its path.
        program: Text of `framework_probe`.
        timeout_s: Seconds after which it is killed.

    Returns:
        "frameworks", what it said of each by name, and "reason", why it may see no GPU;
        {"failed": ...} if it said nothing.
    """
    # -I: packages of the user and PYTHONPATH must not change what is looked at.
    status, output, errors = run([python, "-I", "-c", program], timeout_s)
    lines = errors.strip().splitlines()
    answer = marked(output)
    if answer is None:
        return {"failed": (lines or [f"exit status {status}"])[-1][:N_LETTERS]}
    reasons = [line for line in lines if _REASON.search(line)]
    return {"frameworks": answer, "reason": (reasons or [""])[-1][-N_LETTERS:]}


def run(
    argv: list[str], timeout_s: float, environment: dict[str, str] | None = None
) -> tuple[int, str, str]:
    """Run a program to its end, or for as long as it may take.

    Args:
        argv: The program with its arguments.
        timeout_s: Seconds after which it is killed.
        environment: Variables in addition to those of the job.

    Returns:
        Exit status (127 if there is no such program, 124 if it took too long), what it
        printed, and its errors.
    """
    try:
        done = subprocess.run(
            argv,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            cwd="/",
        )
    except OSError as error:
        return 127, "", str(error.strerror)
    except subprocess.TimeoutExpired:
        return 124, "", f"no answer in {timeout_s:.0f} s"
    output, errors = (data.decode("utf-8", "replace") for data in (done.stdout, done.stderr))
    return done.returncode, output, errors


def marked(output: str) -> dict[str, Any] | None:
    """Return the object in the last line of a program that begins with the mark.

    Args:
        output: What it printed.

    Returns:
        The object; None if there is no such line.
    """
    # Frameworks print lines of their own, before and after.
    for line in reversed(output.splitlines()):
        if line.startswith(MARK):
            with contextlib.suppress(ValueError):
                answer = json.loads(line[len(MARK) :])
                return answer if isinstance(answer, dict) else None
    return None


def probe_allreduce(question: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Run an all-reduce of two ranks on this node.

    Args:
        question: With "ranks", what `rank_starter` is asked, by backend, and "programs".
        found: With "given", "is_real" and "kernels".

    Returns:
        What rank 0 said; "failed" if a rank failed, "untried" if there is nothing to try.
        "backend" and "kernel" are those for ranks on two nodes; missing if there cannot be any.
    """
    with_torch = [name for name, one in found["kernels"].items() if "version" in torch_report(one)]
    if not with_torch:
        return {"untried": "no kernel has PyTorch"}
    kernel, backend = with_torch[0], "gloo"
    if found["is_real"]:
        torch, backend = torch_report(found["kernels"][kernel]), "nccl"
        if any(name.startswith("MIG-") for name in found["given"]):
            return {"untried": "NCCL does not join parts of a GPU (MIG)"}
        if not 0 < len(found["given"]) <= torch["gpus"] or not torch["nccl"]:
            return {"untried": f"PyTorch of the kernel {kernel} cannot use the GPUs"}
        if len(found["given"]) < N_RANKS:
            return {"kernel": kernel, "backend": backend, "untried": "the job has one GPU"}
    with tempfile.TemporaryDirectory(prefix="dsportal-check-") as folder:
        asked = {
            **question["ranks"][backend],
            "kernel": kernel,
            "n_local": N_RANKS,
            # Ranks of one node share a folder; a port could be in use.
            "meeting_place": f"file://{folder}/store",
        }
        status, output, errors = run(
            [sys.executable, "-I", "-c", question["programs"]["ranks"]],
            ALLREDUCE_S,
            {"PROBE_QUESTION": json.dumps(asked)},
        )
    last = (errors.strip().splitlines() or [f"exit status {status}"])[-1]
    failed = {"backend": backend, "kernel": kernel, "failed": last[:N_LETTERS]}
    return marked(output) or failed


def torch_report(kernel: dict[str, Any]) -> dict[str, Any]:
    """Return what a kernel said of PyTorch.

    Args:
        kernel: What it said of all frameworks.

    Returns:
        Its report; empty if it has no PyTorch.
    """
    found: dict[str, Any] = kernel.get("frameworks", {}).get("torch", {})
    return found


if __name__ == "__main__":
    main()
