"""Another user of the node at the ports of a debugger, which runs whatever it is told."""

import uuid
from pathlib import Path

import pytest

from tests.support.debugger import FIRST, GREETING, debugged, mark_of, open_ports
from tests.support.editor_kernel import TIMEOUT_S, connect, ports, printed, start_kernel
from tests.support.eventually import eventually
from tests.support.other_user import NEIGHBOUR, read

WAIT = "print('ready', flush=True); input()"
WITH_ADAPTER = f"import debugpy; debugpy.listen(0); {WAIT}"
WITHOUT_ADAPTER = f"""
import debugpy, socket
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
debugpy.listen(port, in_process_debug_adapter=True); {WAIT}
"""


@pytest.mark.parametrize("program", [WITH_ADAPTER, WITHOUT_ADAPTER], ids=["adapter", "pydevd"])
def test_another_user_gets_not_a_byte_from_a_debugged_program(program: str) -> None:
    with debugged("-Xfrozen_modules=off", "-c", program) as mark:
        opened = open_ports(mark)
        assert opened

        assert read(opened, NEIGHBOUR, greeting=GREETING) == [0] * len(opened)

        # The adapter talks to one client and one program at a time.
        assert read(opened[:1], None, greeting=GREETING, is_enough=True) > [0], (
            "the user's own get an answer"
        )


def test_another_user_gets_not_a_byte_from_the_adapter_that_an_editor_starts() -> None:
    # As VS Code does, which talks to it on its standard streams: the folder is what it runs.
    start = (
        "import os, runpy, debugpy.adapter; print('ready', flush=True); "
        "runpy.run_path(os.path.dirname(debugpy.adapter.__file__), run_name='__main__')"
    )
    with debugged("-c", start) as mark:
        opened = eventually(lambda: open_ports(mark), timeout_s=TIMEOUT_S)

        assert read(opened, NEIGHBOUR, greeting=GREETING) == [0] * len(opened)


@pytest.mark.parametrize("path", ["", str(FIRST)], ids=["of the image", "of the session"])
def test_another_user_gets_not_a_byte_from_the_debugger_of_a_notebook(
    path: str, tmp_path: Path
) -> None:
    mark = uuid.uuid4().hex
    library = str(FIRST.parents[2])
    environ = {**mark_of(mark), "PYTHONPATH": path, "PORTAL_LIBRARY": library}
    kernel = start_kernel(tmp_path, PORTAL_SERVER_SOCKET="", **environ)
    try:
        client = connect(kernel)
        before = open_ports(mark)
        # What JupyterLab asks for when its debugger is switched on.
        arguments = {"clientID": "jupyterlab", "adapterID": "python", "pathFormat": "path"}
        content = {"type": "request", "seq": 1, "command": "initialize", "arguments": arguments}
        client.control_channel.send(client.session.msg("debug_request", content))
        reply = client.get_control_msg(timeout=TIMEOUT_S)
        assert reply["content"]["success"]
        opened = [port for port in open_ports(mark) if port not in before]
        assert opened

        assert read(opened, NEIGHBOUR, greeting=GREETING) == [0] * len(opened)

        assert printed(client, "print('of the user')") == "of the user\n"
        client.stop_channels()
    finally:
        kernel.shutdown_kernel(now=True)


def test_a_kernel_that_an_editor_starts_by_itself_lets_its_own_user_in_alone(
    tmp_path: Path,
) -> None:
    environ = {"PYTHONPATH": str(FIRST), "PORTAL_SERVER_SOCKET": str(tmp_path / "session")}
    kernel = start_kernel(tmp_path, program=("-m", "ipykernel_launcher"), **environ)
    try:
        client = connect(kernel)

        assert read(ports(kernel), NEIGHBOUR, greeting=GREETING) == [0] * 5

        assert printed(client, "print('of the user')") == "of the user\n"
        client.stop_channels()
    finally:
        kernel.shutdown_kernel(now=True)
