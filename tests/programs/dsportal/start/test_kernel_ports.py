"""A kernel on ports works as any other, and leaves nothing behind, however it ends."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest
import zmq
from jupyter_client import BlockingKernelClient, KernelManager

from tests.support.checkout import KERNEL
from tests.support.editor_kernel import (
    TIMEOUT_S,
    connect,
    forwarder,
    ports,
    printed,
    start_kernel,
)
from tests.support.eventually import eventually, throughout

N_BYTES = 20_000_000
HOLDS_PYTHONS_LOCK = "open({!r}, 'w').close(); sum(range(10**12))"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """The session's folder for sockets."""
    folder = tmp_path / "session"
    folder.mkdir()
    return folder


@pytest.fixture
def kernel(session: Path, tmp_path: Path) -> Iterator[KernelManager]:
    kernel = start_kernel(tmp_path, PORTAL_SERVER_SOCKET=str(session / "kernels"))
    yield kernel
    kernel.shutdown_kernel(now=True)


@pytest.fixture
def client(kernel: KernelManager) -> Iterator[BlockingKernelClient]:
    client = connect(kernel)
    yield client
    client.stop_channels()


def run_until(client: BlockingKernelClient, code: str, text: str) -> str:
    """Start a cell, and return its message's id once it has printed a text."""
    # Otherwise an error refuses for a moment what is sent next, as after a cell of "Run all".
    sent = client.execute(code, stop_on_error=False)
    shown = ""
    while text not in shown:
        message = client.get_iopub_msg(timeout=TIMEOUT_S)
        if message["msg_type"] == "stream":
            shown += message["content"]["text"]
    return sent


def reply_to(client: BlockingKernelClient, sent: str) -> dict[str, object]:
    while True:
        message = client.get_shell_msg(timeout=TIMEOUT_S)
        if message["parent_header"].get("msg_id") == sent:
            return dict(message["content"])


def expect_nothing_left(forwards: psutil.Process, session: Path) -> None:
    eventually(lambda: not forwards.is_running(), timeout_s=TIMEOUT_S)
    assert list(session.iterdir()) == []


def test_a_large_output_comes_whole(client: BlockingKernelClient) -> None:
    assert len(printed(client, f"print('x' * {N_BYTES})")) == N_BYTES + 1


def test_an_editor_that_first_looks_whether_the_ports_are_open_reaches_the_kernel(
    kernel: KernelManager,
) -> None:
    # VS Code's Jupyter extension, `KernelProcess.launch`: while the kernel starts.
    for port in (kernel.shell_port, kernel.iopub_port):
        look = partial(socket.create_connection, ("127.0.0.1", port))
        eventually(look, timeout_s=TIMEOUT_S).close()

    client = connect(kernel)
    assert printed(client, "print(6 * 7)") == "42\n"
    client.stop_channels()


def test_an_interrupt_ends_the_cell_and_nothing_else(
    kernel: KernelManager, client: BlockingKernelClient
) -> None:
    code = "import time; print('begun', flush=True); time.sleep(600)"
    sent = run_until(client, code, "begun")

    kernel.interrupt_kernel()

    assert reply_to(client, sent)["ename"] == "KeyboardInterrupt"
    assert printed(client, "print('again')") == "again\n"


def test_a_cell_that_holds_pythons_lock_leaves_the_heart_beating(
    kernel: KernelManager, client: BlockingKernelClient, tmp_path: Path
) -> None:
    begun = tmp_path / "begun"
    client.execute(HOLDS_PYTHONS_LOCK.format(str(begun)))
    eventually(begun.exists, timeout_s=TIMEOUT_S)

    with zmq.Context() as context, context.socket(zmq.REQ) as heart:
        heart.linger = 0
        heart.connect(f"tcp://127.0.0.1:{kernel.hb_port}")

        def beats() -> bool:
            heart.send(b"ping")
            return bool(heart.poll(5000)) and heart.recv() == b"ping"

        throughout(beats, for_s=1)


def test_a_restarted_kernel_has_the_same_ports(
    kernel: KernelManager, client: BlockingKernelClient
) -> None:
    before, pid = ports(kernel), forwarder(kernel).pid

    kernel.restart_kernel(now=True)
    client.wait_for_ready(timeout=TIMEOUT_S)

    assert printed(client, "print('again')") == "again\n"
    assert ports(kernel) == before
    assert forwarder(kernel).pid != pid


def test_a_kernel_that_is_shut_down_answers_and_leaves_nothing(
    kernel: KernelManager, client: BlockingKernelClient, session: Path
) -> None:
    forwards = forwarder(kernel)

    answer = client.shutdown(reply=True, timeout=TIMEOUT_S)

    assert answer["content"]["status"] == "ok"
    expect_nothing_left(forwards, session)


def test_a_killed_kernel_leaves_nothing_even_if_what_a_cell_forked_runs_on(
    kernel: KernelManager, client: BlockingKernelClient, session: Path
) -> None:
    forwards = forwarder(kernel)
    code = "import os, time; pid = os.fork()\nif not pid: os.setsid(); time.sleep(600)\nprint(pid)"
    child = psutil.Process(int(printed(client, code)))
    try:
        printed_pid = int(printed(client, "print(os.getpid())"))
        os.kill(printed_pid, signal.SIGKILL)

        expect_nothing_left(forwards, session)
        assert child.is_running()
    finally:
        child.kill()


def test_a_kernel_that_nobody_can_reach_ends(
    kernel: KernelManager, client: BlockingKernelClient, session: Path
) -> None:
    forwarder(kernel).kill()

    eventually(lambda: not kernel.is_alive(), timeout_s=TIMEOUT_S)
    assert list(session.iterdir()) == []


def test_what_a_cell_ends_of_its_own_children_is_not_the_forwarder(
    kernel: KernelManager, client: BlockingKernelClient
) -> None:
    code = "import psutil; print(psutil.Process().children(recursive=True))"

    assert printed(client, code) == "[]\n"


def test_without_a_session_the_sockets_are_in_a_folder_of_their_own(tmp_path: Path) -> None:
    kernel = start_kernel(tmp_path, PORTAL_SERVER_SOCKET="")
    try:
        client = connect(kernel)
        code = (
            "import psutil; print({one.laddr for one in psutil.Process().net_connections('unix')})"
        )
        places = {Path(path).parent for path in eval(printed(client, code)) if path.endswith("-6")}
        client.stop_channels()
    finally:
        kernel.shutdown_kernel(now=True)
    (place,) = places
    assert place.parent == Path("/tmp")
    eventually(lambda: not place.exists(), timeout_s=TIMEOUT_S)


@pytest.mark.parametrize("ip", ["0.0.0.0", "::1", "localhost"])
def test_a_kernel_for_other_machines_is_refused(ip: str, tmp_path: Path) -> None:
    file = tmp_path / "kernel.json"
    channels = ("shell", "iopub", "stdin", "control", "hb")
    asked = {f"{channel}_port": 0 for channel in channels}
    file.write_text(json.dumps({**asked, "transport": "tcp", "ip": ip, "key": ""}))

    done = subprocess.run(
        [sys.executable, KERNEL, "-f", file],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )

    assert done.returncode == 1
    assert f"asks for ports of {ip}." in done.stderr
    assert "Set ip to 127.0.0.1." in done.stderr


def test_ports_that_the_kernel_chooses_are_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "kernel.json"
    with subprocess.Popen([sys.executable, KERNEL, "-f", file]) as program:
        try:
            asked = eventually(lambda: json.loads(file.read_text()), timeout_s=TIMEOUT_S)
            client = BlockingKernelClient()
            client.load_connection_info(asked)
            client.start_channels()
            client.wait_for_ready(timeout=TIMEOUT_S)
            assert printed(client, "print('here')") == "here\n"
            client.stop_channels()
        finally:
            program.kill()
