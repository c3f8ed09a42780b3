"""TensorBoard from a cell: who may ask, and what the cell shows."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from dsportal import TensorBoardError, tensorboard
from dsportal.session_socket import VARIABLE as SOCKET_VARIABLE
from portal.server.base.local_socket import VARIABLE
from tests.support.notebook_server import NotebookServer


@pytest.fixture
def socket(notebook_server: NotebookServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The socket of the server, as a kernel finds it; the working directory is the user's home."""
    (path,) = notebook_server.tmp_dir.glob("dsportal-*/kernels")
    monkeypatch.setenv(SOCKET_VARIABLE, str(path))
    monkeypatch.chdir(notebook_server.root)
    # Links are shown as text where there is no page.
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    return path


def test_both_sides_know_the_socket_by_one_name() -> None:
    assert SOCKET_VARIABLE == VARIABLE


@pytest.mark.usefixtures("socket")
def test_a_cell_gets_the_link_that_the_button_leads_to(
    notebook_server: NotebookServer, capsys: pytest.CaptureFixture[str]
) -> None:
    tensorboard("logs")

    (board,) = notebook_server.ask("GET").json()
    assert capsys.readouterr().out == f"TensorBoard of logs: {board['url']}\n"
    assert notebook_server.open("logs") == board


@pytest.mark.usefixtures("socket")
def test_a_cell_compares_folders_and_reads_what_is_slow(
    notebook_server: NotebookServer, capsys: pytest.CaptureFixture[str]
) -> None:
    tensorboard("runs/first", notebook_server.root / "runs/second")
    tensorboard("slow")

    shown = capsys.readouterr().out
    assert "TensorBoard of runs/first, runs/second: /user/ada/portal/tensorboards/" in shown
    assert "slow\nTensorBoard of slow: " in shown


@pytest.mark.usefixtures("socket")
@pytest.mark.parametrize(
    ("folders", "sentence"),
    [
        (("absent",), "does not exist. Refresh the file browser"),
        (("/etc",), "outside your files"),
        ((), r'Write tensorboard\("logs"\)'),
    ],
)
def test_a_folder_that_cannot_be_shown_is_a_sentence(
    folders: tuple[str, ...], sentence: str
) -> None:
    with pytest.raises(TensorBoardError, match=sentence):
        tensorboard(*folders)


def test_python_outside_a_session_says_where_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SOCKET_VARIABLE, raising=False)

    with pytest.raises(TensorBoardError, match="Run it in a notebook or a terminal of the portal"):
        tensorboard("logs")


def test_a_server_that_has_gone_is_told_from_a_bad_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(SOCKET_VARIABLE, str(tmp_path / "kernels"))

    with pytest.raises(TensorBoardError, match=r"gave no answer .* restart the kernel too"):
        tensorboard("logs")


def test_only_the_user_can_open_the_socket(socket: Path) -> None:
    assert stat.S_IMODE(socket.stat().st_mode) == 0o600
    assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_of_the_node_cannot_ask(socket: Path) -> None:
    argv = ["curl", "--silent", "--max-time", "5", "--unix-socket", str(socket)]
    argv += ["--data", '{"logdir": "logs"}', "http://localhost/tensorboards"]

    stranger = subprocess.run(argv, user=65534, extra_groups=[], capture_output=True, check=False)

    assert (stranger.returncode, stranger.stdout) == (7, b""), "curl could not connect"
