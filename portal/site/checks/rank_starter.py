"""Starts the ranks of an all-reduce that belong on this node, as the user, and waits for them.

It is a job's script, or a program that `gpu_probe` runs, so it stands alone: only Python's own
library, for Python 3.9 or newer. PROBE_QUESTION in the environment is a JSON object, see
`portal.site.checks.gpu_test_job.rank_starter_input`. The ranks are `allreduce`, run by a kernel's
Python.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

MARK = "dsportal-check: "
# Time for importing PyTorch and for ending.
GRACE_S = 45.0
N_LETTERS = 300
POLL_S = 0.1
LOOPBACK = "lo"
# Linux, include/uapi/linux/sockios.h; Python has no name for it.
_SIOCGIFADDR = 0x8915


def main() -> None:
    """Run the ranks of this node, and print what rank 0 said or why one failed."""
    # Slurm ends a job by this signal; an exit unwinds the stack that kills the ranks.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    question = json.loads(os.environ["PROBE_QUESTION"])
    print(MARK + json.dumps(run_ranks(question)), flush=True)


def run_ranks(question: dict[str, Any]) -> dict[str, Any]:
    """Run ranks side by side to their end.

    Args:
        question: "server" and "kernel" name the Python that runs the text "program"; "rank" is
            the first of "n_local" ranks here, of "n_ranks"; "peer" is the address of the other
            node, or empty; the rest is what each rank is asked.

    Returns:
        "backend", "kernel", and what rank 0 said if it is here, or "failed", the last word of
        the rank that failed first.
    """
    asked_for = {"backend": question["backend"], "kernel": question["kernel"]}
    try:
        python = kernel_python(Path(question["server"]), question["kernel"])
    except (OSError, ValueError, LookupError) as error:
        return {**asked_for, "failed": f"the kernel {question['kernel']}: {error}"}
    interface = interface_towards(question["peer"]) if question["peer"] else LOOPBACK
    with contextlib.ExitStack() as stack:
        running = []
        for local_rank in range(question["n_local"]):
            asked = {**question, "rank": question["rank"] + local_rank, "local_rank": local_rank}
            # Files: nobody reads before the end, and a full pipe would stop the rank.
            output, errors = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(2))
            process = subprocess.Popen(
                [python, "-I", "-c", question["program"]],
                env={**os.environ, **variables(asked, interface)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                cwd="/",
            )
            stack.callback(process.kill)
            running.append((process, output, errors))
        failed = wait_for([process for process, _, _ in running], question["timeout_s"] + GRACE_S)
        if failed is None:
            return {**asked_for, "failed": "the ranks did not end in time"}
        # One that failed leaves the others waiting; the first to fail knows why.
        if failed >= 0:
            process, _, errors = running[failed]
            return {**asked_for, "failed": last_word(errors) or f"exit status {process.returncode}"}
        return {**asked_for, **marked(running[0][1])}


def kernel_python(server: Path, kernel: str) -> str:
    """Return the Python of a kernel.

    Args:
        server: Folder of the server environment.
        kernel: Name of the kernel.

    Returns:
        Path of its Python.
    """
    spec = server / "share/jupyter/kernels" / kernel / "kernel.json"
    return str(json.loads(spec.read_text("utf-8"))["argv"][0])


def variables(question: dict[str, Any], interface: str) -> dict[str, str]:
    """Return what a rank finds in its environment.

    Args:
        question: What it is asked.
        interface: Network interface towards the others; empty for unknown.

    Returns:
        Variables to set.
    """
    asked = {name: value for name, value in question.items() if name != "program"}
    # Else each rank starts a thread for every core that it sees.
    found = {"ALLREDUCE_QUESTION": json.dumps(asked), "OMP_NUM_THREADS": "1"}
    if interface:
        found["GLOO_SOCKET_IFNAME"] = interface
        if interface != LOOPBACK:
            found["NCCL_SOCKET_IFNAME"] = interface
    return found


def wait_for(processes: list[subprocess.Popen[bytes]], timeout_s: float) -> int | None:
    """Wait until all have ended, or one has failed.

    Args:
        processes: The ranks.
        timeout_s: Longest wait.

    Returns:
        Place of the one that failed first, -1 if none; None if they did not end.
    """
    give_up_at = time.monotonic() + timeout_s
    while time.monotonic() < give_up_at:
        states = [process.poll() for process in processes]
        # A signal gives a negative status, which counts as failed too.
        for place, state in enumerate(states):
            if state:
                return place
        if all(state == 0 for state in states):
            return -1
        time.sleep(POLL_S)
    return None


def last_word(file: Any) -> str:
    """Return the last line of what a rank wrote.

    Args:
        file: Open file.

    Returns:
        The line; empty for none.
    """
    file.seek(0)
    lines: list[str] = file.read().decode("utf-8", "replace").strip().splitlines()
    # PyTorch warns at the end of a process that failed.
    said = [line for line in lines if "Error" in line] or lines
    return (said or [""])[-1].strip()[:N_LETTERS]


def marked(file: Any) -> dict[str, Any]:
    """Return what rank 0 said.

    Args:
        file: Open file of what it printed.

    Returns:
        The object in the line with the mark; empty if there is no such line.
    """
    file.seek(0)
    for line in file.read().decode("utf-8", "replace").splitlines():
        if line.startswith(MARK):
            answer = json.loads(line[len(MARK) :])
            return answer if isinstance(answer, dict) else {}
    return {}


def interface_towards(host: str) -> str:
    """Return the network interface by which this node reaches another.

    Args:
        host: Name or IPv4 address of the other.

    Returns:
        Such as "ib0"; empty if unknown.

    Source:
        netdevice(7), SIOCGIFADDR.
    """
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, 9))  # a datagram socket sends nothing here
        own_address = probe.getsockname()[0]
        for _, name in socket.if_nameindex():
            # struct ifreq: 16 bytes of name; then family, port and, from byte 20, the address.
            request = array.array("B", struct.pack("256s", name.encode()[:15]))
            with contextlib.suppress(OSError):
                fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, request)
                if socket.inet_ntoa(request[20:24].tobytes()) == own_address:
                    return name
    return ""


if __name__ == "__main__":
    main()
