"""A Python kernel of the portal that another program than the notebook server starts, on ports."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
from jupyter_client import BlockingKernelClient, KernelManager

from dsportal.start.kernel_ports import FORWARDER
from tests.support.checkout import KERNEL
from tests.support.eventually import eventually

TIMEOUT_S = 60
# That of a socket or a folder, in the order of the connection file.
PORTS = ("shell_port", "iopub_port", "stdin_port", "control_port", "hb_port")


def start_kernel(
    folder: Path,
    *,
    inside: Sequence[str] = (),
    program: Sequence[str] = (str(KERNEL),),
    **environ: str,
) -> KernelManager:
    """Start one as VS Code does; the caller shuts it down.

    Args:
        environ: Further variables of the kernel; an empty one is not set.
    """
    kernel = KernelManager(connection_file=str(folder / "kernel-0a1b.json"))
    assert kernel.kernel_spec is not None
    kernel.kernel_spec.argv = [
        *inside,
        *(sys.executable, *program, "-f", "{connection_file}"),
    ]
    variables = {k: v for k, v in (os.environ | environ).items() if v}
    kernel.start_kernel(env=variables)
    return kernel


def connect(kernel: KernelManager) -> BlockingKernelClient:
    """Connect to its ports and wait until it answers; the caller stops the channels."""
    client: BlockingKernelClient = kernel.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=TIMEOUT_S)
    return client


def printed(client: BlockingKernelClient, code: str) -> str:
    """Run a cell and return what it prints."""
    texts: list[str] = []

    def take(message: dict[str, Any]) -> None:
        if message["msg_type"] == "stream":
            texts.append(message["content"]["text"])

    client.execute_interactive(code, output_hook=take, timeout=TIMEOUT_S)
    return "".join(texts)


def ports(kernel: KernelManager) -> list[int]:
    """Return the five ports of the connection file."""
    return [int(getattr(kernel, name)) for name in PORTS]


def forwarder(kernel: KernelManager) -> psutil.Process:
    """Return the process that listens on a kernel's ports, once there is one."""

    def listening() -> list[psutil.Process]:
        wanted = set(ports(kernel))
        open_ports = [one for one in psutil.net_connections("tcp") if one.status == "LISTEN"]
        pids = {one.pid for one in open_ports if one.laddr.port in wanted}
        return [psutil.Process(pid) for pid in pids if pid]

    (found,) = eventually(listening, timeout_s=TIMEOUT_S)
    assert found.name() == FORWARDER
    return found
