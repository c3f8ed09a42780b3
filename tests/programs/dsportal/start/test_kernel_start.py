"""A kernel that another program than the notebook server starts, on ports, as VS Code does."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from jupyter_client import BlockingKernelClient

from tests.support.editor_kernel import TIMEOUT_S, connect, printed, start_kernel

PORTS = """
import psutil
open_ports = [one for one in psutil.Process().net_connections("tcp") if one.status == "LISTEN"]
print(len(open_ports), "ports")
"""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[socket.socket]:
    """The socket on which the notebook server listens."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "session"))
        listener.listen()
        listener.settimeout(TIMEOUT_S)
        yield listener


@pytest.fixture
def client(session: socket.socket, tmp_path: Path) -> Iterator[BlockingKernelClient]:
    kernel = start_kernel(tmp_path, PORTAL_SERVER_SOCKET=session.getsockname())
    client = connect(kernel)
    yield client
    client.stop_channels()
    kernel.shutdown_kernel(now=True)


def test_a_cell_keeps_the_session_while_it_runs(
    session: socket.socket, client: BlockingKernelClient
) -> None:
    client.execute("input()", allow_stdin=True)
    asked = client.get_stdin_msg(timeout=TIMEOUT_S)
    # Those of the start have ended.
    session.settimeout(0)
    cells = []
    while True:
        try:
            cells.append(session.accept()[0])
        except BlockingIOError:
            break
    cell = cells[-1]
    cell.settimeout(TIMEOUT_S)
    assert cell.recv(1024).startswith(b"GET /session/cell ")
    cell.setblocking(False)
    with pytest.raises(BlockingIOError):
        cell.recv(1024)

    assert asked["msg_type"] == "input_request"
    client.input("")
    cell.settimeout(TIMEOUT_S)

    assert cell.recv(1024) == b""
    for one in cells:
        one.close()


def test_the_kernel_itself_listens_on_no_port(client: BlockingKernelClient) -> None:
    assert printed(client, PORTS) == "0 ports\n"


def test_an_import_of_colab_says_what_to_do_here(client: BlockingKernelClient) -> None:
    assert "drag files into the file browser" in printed(client, "from google.colab import drive")


def test_module_changes_the_variables_of_the_kernel(tmp_path: Path) -> None:
    # As environment modules do: the shell's own variables change.
    function = '() { [ "$1" = load ] && export LOADED=$2 && unset OLD && echo "loaded $2" >&2; }'
    variables = {"BASH_FUNC_module%%": function, "OLD": "1"}
    kernel = start_kernel(tmp_path, **variables)
    client = connect(kernel)
    code = "%module load gcc\nimport os\nprint(os.environ['LOADED'], 'OLD' in os.environ)"
    try:
        assert printed(client, code).splitlines() == ["loaded gcc", "gcc False"]
    finally:
        client.stop_channels()
        kernel.shutdown_kernel(now=True)
