"""What must hold for TensorBoards, whichever program serves them.

A suite imports these tests and gives them a `notebook_server` fixture without open TensorBoards.
"""

import contextlib
import stat
from pathlib import Path

import requests

from tests.support.notebook_server import NotebookServer


def test_a_folder_is_opened_behind_the_login(notebook_server: NotebookServer) -> None:
    board = notebook_server.open("logs")

    assert board["logdir"] == "logs"
    assert board["url"] == f"/user/ada/portal/tensorboards/{board['id']}/"
    assert notebook_server.page(board).ok
    page = requests.get(f"{notebook_server.host}{board['url']}", allow_redirects=False, timeout=30)
    boards = requests.get(f"{notebook_server.host}/user/ada/portal/api/tensorboards", timeout=30)
    assert (page.status_code, boards.status_code) == (302, 403)
    assert "/login" in page.headers["Location"]


def test_the_same_folder_is_opened_once(notebook_server: NotebookServer) -> None:
    first = notebook_server.open("logs")

    again = notebook_server.open("./more/../logs/")

    assert again["id"] == first["id"]
    assert [board["id"] for board in notebook_server.ask("GET").json()] == [first["id"]]


def test_two_folders_are_open_at_once(notebook_server: NotebookServer) -> None:
    boards = [notebook_server.open("logs"), notebook_server.open("more")]

    assert boards[0]["id"] != boards[1]["id"]
    assert all(notebook_server.page(board).ok for board in boards)
    assert notebook_server.ask("GET").json() == boards


def test_several_folders_are_compared_in_one(notebook_server: NotebookServer) -> None:
    board = notebook_server.open("runs/first", "runs/second")

    assert board["logdir"] == "runs"
    assert board["logdirs"] == ["runs/first", "runs/second"]
    assert notebook_server.page(board).ok


def test_one_that_was_stopped_is_gone_and_says_what_to_do(notebook_server: NotebookServer) -> None:
    board = notebook_server.open("logs")

    stopped = notebook_server.ask("DELETE", f"/{board['id']}")

    assert (stopped.status_code, stopped.text) == (204, "")
    page = notebook_server.page(board)
    assert page.status_code == 404
    assert "press the TensorBoard button to open it again" in page.text
    assert notebook_server.ask("DELETE", f"/{board['id']}").status_code == 404
    assert notebook_server.ask("GET").json() == []


def test_one_whose_folder_was_removed_says_so(notebook_server: NotebookServer) -> None:
    folder = notebook_server.root / "removed"
    folder.mkdir()
    board = notebook_server.open("removed")
    folder.rmdir()

    answer = notebook_server.page(board)

    assert answer.status_code == 404
    assert "The folder of this TensorBoard is gone" in answer.text
    assert "removed" in answer.text


def test_only_the_user_can_reach_the_socket(notebook_server: NotebookServer) -> None:
    notebook_server.open("logs")

    (socket,) = notebook_server.sockets()

    assert stat.S_IMODE(socket.stat().st_mode) == 0o600
    assert stat.S_IMODE(socket.parents[1].stat().st_mode) == 0o700


def listening_inodes() -> set[str]:
    """Return the sockets that listen on TCP in this network namespace."""
    lines = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/self/net/{name}").read_text().splitlines()[1:]
    ]
    return {fields[9] for fields in lines if fields[3] == "0A"}


def sockets_of(pids: list[int]) -> set[str]:
    """Return the sockets of processes; one that has ended meanwhile has none."""
    targets: set[str] = set()
    for pid in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for link in Path(f"/proc/{pid}/fd").iterdir():
                # A file may be closed meanwhile, too.
                with contextlib.suppress(FileNotFoundError):
                    targets.add(str(link.readlink()))
    return {name[8:-1] for name in targets if name.startswith("socket:[")}


def test_no_port_is_open_on_the_node(notebook_server: NotebookServer) -> None:
    board = notebook_server.open("logs")
    assert notebook_server.page(board).ok
    pids = notebook_server.tensorboard_pids()

    assert pids
    assert sockets_of([notebook_server.process.pid]) & listening_inodes(), (
        "the server itself listens"
    )
    assert sockets_of(pids) & listening_inodes() == set()
