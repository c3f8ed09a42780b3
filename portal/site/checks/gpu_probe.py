"""What NVIDIA's tools say of a job's GPUs, and whether a template runs on them.

The job's script holds this text, so it stands alone: only Python's own library, for Python 3.9 or
newer. PROBE_QUESTION in the environment is a JSON object, see
`portal.site.checks.gpu_findings.gpu_probe_input`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

MARK = "dsportal-check: "
NVIDIA_SMI_S = 30.0
DCGMI_S = 120.0
TEMPLATE_S = 600.0
COUNT_S = 60.0
NO_PROGRAM = 127
N_LETTERS = 300
HAS_MODULE = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"
# Of all that frameworks write, the lines that may say why there is no GPU.
_ABOUT_GPUS = re.compile("CUDA|GPU|driver|dlopen|cuInit")
# Run by the template's kernel: how many GPUs its framework finds.
COUNT_GPUS = """
import importlib.util
if importlib.util.find_spec("tensorflow"):
    import tensorflow
    print(len(tensorflow.config.list_physical_devices("GPU")))
else:
    import torch
    print(torch.cuda.device_count())
"""


def main() -> None:
    """Look, and print what was found."""
    # Slurm ends a job by this signal; folders and programs go with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    question = json.loads(os.environ["PROBE_QUESTION"])
    given = [word for word in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if word]
    found: dict[str, Any] = {"node": socket.gethostname(), "given": given}
    # A machine with a card may hold simulated nodes, whose GPUs its driver does not know.
    if not question["is_simulated"]:
        found["nvidia_smi"] = ask_nvidia_smi()
        found["dcgmi"] = ask_dcgmi()
    found["template"] = run_template(question)
    print(MARK + json.dumps(found), flush=True)


def ask_nvidia_smi() -> dict[str, Any]:
    """Return "driver" and "gpus", or "status" and "failed" if nvidia-smi gives no list.

    Source:
        nvidia-smi(1), -q -x; an element that a driver or a card does not have is missing.
    """
    status, printed, errors = run(["nvidia-smi", "-q", "-x"], NVIDIA_SMI_S)
    try:
        # What the driver's own program printed.
        log = ElementTree.fromstring(printed)  # noqa: S314
    except ElementTree.ParseError:
        said = (printed.strip() or errors.strip()).splitlines()
        return {"status": status, "failed": (said or [f"exit status {status}"])[0][:N_LETTERS]}
    return {
        "driver": log.findtext("driver_version", ""),
        "gpus": [describe_gpu(gpu) for gpu in log.findall("gpu")],
    }


def describe_gpu(gpu: ElementTree.Element) -> dict[str, Any]:
    """Return name and state of a GPU, in nvidia-smi's words."""
    counts = gpu.find("ecc_errors/volatile")
    uncorrected = [
        int(one.text or 0)
        for one in (counts if counts is not None else ())
        # Newer drivers count them by kind, and cards without ECC say N/A.
        if "uncorrectable" in one.tag and (one.text or "").isdecimal()
    ]
    return {
        "name": gpu.findtext("product_name", ""),
        "persistence": gpu.findtext("persistence_mode", ""),
        "mig": gpu.findtext("mig_mode/current_mig", ""),
        "n_uncorrected": sum(uncorrected),
        "row_pending": gpu.findtext("remapped_rows/remapped_row_pending", ""),
        "row_failure": gpu.findtext("remapped_rows/remapped_row_failure", ""),
    }


def ask_dcgmi() -> dict[str, Any] | None:
    """Return "status" and "said", the line about a fault; None if there is no dcgmi."""
    status, printed, errors = run(["dcgmi", "diag", "-r", "1"], DCGMI_S)
    if status == NO_PROGRAM:
        return None
    lines = [line.strip() for line in (printed + "\n" + errors).splitlines() if line.strip()]
    told = [line for line in lines if "fail" in line.lower() or "error" in line.lower()]
    return {"status": status, "said": (told or [""])[0][:N_LETTERS]}


def run_template(question: dict[str, Any]) -> dict[str, Any]:
    """Run the first template of a `question` whose kernel has what it needs, to its last cell.

    Returns:
        "untried" with the reason; or "name", "kernel", "took_s" and "failed", which is empty if it
        ran, then with "n_gpus", those that its kernel finds, and "said", why it may find too few,
        unless GPUs are simulated.
    """
    templates, server = Path(question["templates"]), Path(question["server"])
    for name, module in question["templates_by_name"].items():
        try:
            notebook = json.loads((templates / name).read_text("utf-8"))
            kernel = notebook["metadata"]["kernelspec"]["name"]
            spec = server / "share/jupyter/kernels" / kernel / "kernel.json"
            python = json.loads(spec.read_text("utf-8"))["argv"][0]
        except (OSError, ValueError, LookupError):
            continue
        if run([python, "-I", "-c", HAS_MODULE, module], COUNT_S)[0] != 0:
            continue
        return {"name": name, "kernel": kernel, **execute(question, name, python)}
    return {"untried": f"no kernel here can run {' or '.join(question['templates_by_name'])}"}


def execute(question: dict[str, Any], name: str, python: str) -> dict[str, Any]:
    """Run a copy of a template in a home of its own, without packages and settings of the user.

    Returns:
        What `run_template` says of one that it ran, for its `question`.
    """
    templates = Path(question["templates"])
    jupyter = str(Path(question["server"], "bin/jupyter"))
    words = ("nbconvert", "--to=notebook", "--execute", "--log-level=ERROR", "--output=executed")
    with tempfile.TemporaryDirectory(prefix="dsportal-check-") as home:
        folder = Path(home, "templates", name).parent
        shutil.copytree(templates / "shared", Path(home, "templates/shared"))
        shutil.copytree((templates / name).parent, folder)
        variables = {**question["variables"], "HOME": home}
        began_s = time.monotonic()
        status, _, errors = run([jupyter, *words, Path(name).name], TEMPLATE_S, folder, variables)
    found = {"took_s": round(time.monotonic() - began_s), "failed": ""}
    if status:
        return {**found, "failed": last_line(errors) or f"exit status {status}"}
    if question["is_simulated"]:
        return found
    # -I: packages of the user and PYTHONPATH must not change what is looked at.
    _, printed, errors = run([python, "-I", "-c", COUNT_GPUS], COUNT_S)
    n_gpus = last_line(printed)
    return {
        **found,
        "n_gpus": int(n_gpus) if n_gpus.isdecimal() else 0,
        "said": last_line("\n".join(filter(_ABOUT_GPUS.search, errors.splitlines()))),
    }


def last_line(text: str) -> str:
    """Return the last line that is not empty; "" if there is none."""
    return (text.strip().splitlines() or [""])[-1].strip()[:N_LETTERS]


def run(
    argv: list[str],
    timeout_s: float,
    folder: Path = Path("/"),
    variables: dict[str, str] | None = None,
) -> tuple[int, str, str]:
    """Run a program to its end, or for `timeout_s`, with `variables` beside those of the job.

    Returns:
        Exit status (127 if there is no such program, 124 if it took too long), what it
        printed, and its errors.
    """
    try:
        done = subprocess.run(
            argv,
            env={**os.environ, **(variables or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            cwd=folder,
        )
    except OSError as error:
        return NO_PROGRAM, "", str(error.strerror)
    except subprocess.TimeoutExpired:
        return 124, "", f"no answer in {timeout_s:.0f} s"
    return (
        done.returncode,
        done.stdout.decode("utf-8", "replace"),
        done.stderr.decode("utf-8", "replace"),
    )


if __name__ == "__main__":
    main()
