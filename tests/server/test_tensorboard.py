"""The real TensorBoard in a real notebook server: what it shows, and who cannot see it."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.event_files import FINAL_ACCURACY, write_run
from tests.support.eventually import eventually
from tests.support.namespaces import users_can_make_network_namespaces
from tests.support.notebook_server import NotebookServer, is_alive
from tests.support.tensorboard_contract import *  # noqa: F403
from tests.support.tensorboard_contract import listening_inodes, sockets_of

USER, ANOTHER_USER = 12345, 65534
SCALARS = "data/plugin/scalars/scalars?run={run}&tag=accuracy"


@pytest.fixture(scope="session")
def runs(one_server: NotebookServer, tensorboard_python: Path) -> None:
    for name in ("first", "second"):
        write_run(tensorboard_python, one_server.root / "runs" / name)


def shown_runs(server: NotebookServer, board: dict[str, Any]) -> list[str]:
    return sorted(server.page(board, "data/runs").json())


@pytest.mark.usefixtures("runs")
def test_the_curves_of_a_folder_are_shown(notebook_server: NotebookServer) -> None:
    board = notebook_server.open("runs")

    assert shown_runs(notebook_server, board) == ["first", "second"], "the first answer has all"
    curve = notebook_server.page(board, SCALARS.format(run="first")).json()
    assert [step for _, step, _ in curve][-1] == 199
    assert curve[-1][2] == pytest.approx(FINAL_ACCURACY)


@pytest.mark.usefixtures("runs")
def test_folders_that_are_compared_keep_their_names(notebook_server: NotebookServer) -> None:
    board = notebook_server.open("runs/second", "runs/first")

    assert shown_runs(notebook_server, board) == ["first", "second"]


def test_new_points_appear_while_training_goes_on(
    notebook_server: NotebookServer, tensorboard_python: Path
) -> None:
    board = notebook_server.open("more")
    assert shown_runs(notebook_server, board) == []

    write_run(tensorboard_python, notebook_server.root / "more" / "late")

    eventually(lambda: shown_runs(notebook_server, board) == ["late"], timeout_s=20)


def test_its_page_asks_this_host_for_nothing_outside_its_own_address(
    notebook_server: NotebookServer,
) -> None:
    board = notebook_server.open("logs")
    page = notebook_server.page(board).text

    named = re.findall(r"url\((?!data:)([^)]+)\)", page) + re.findall(r'src="([^"]+)"', page)
    assert len(named) > 20
    assert not [address for address in named if address.startswith(("/", "http"))]
    assert notebook_server.page(board, named[0]).ok


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_all_end_with_the_notebook_server(own_server: NotebookServer, end: str) -> None:
    own_server.open("logs")
    pids = own_server.tensorboard_pids()
    assert pids

    getattr(own_server, end)()

    eventually(lambda: not any(is_alive(pid) for pid in pids), timeout_s=5)


needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can become two other users")


@pytest.fixture(scope="module")
def users_server(tensorboard_python: Path) -> Iterator[NotebookServer]:
    """A server of an ordinary user, in a folder that every user can look into."""
    with tempfile.TemporaryDirectory(prefix="dsp-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        server = NotebookServer(folder, tensorboard_python, user_id=USER)
        for path in (folder, server.root, server.tmp_dir):
            path.chmod(0o755)
        yield server
        server.stop()


@needs_root
def test_another_user_of_the_node_reaches_nothing(users_server: NotebookServer) -> None:
    board = users_server.open("logs")
    (socket,) = users_server.sockets()
    curl = ["curl", "--silent", "--max-time", "5", "--output", "/dev/null"]
    curl += ["--write-out", "%{http_code}"]
    pages = {
        "socket": [*curl, "--unix-socket", str(socket), f"http://localhost{board['url']}"],
        "proxy": [*curl, f"{users_server.host}{board['url']}"],
        "rest": [*curl, f"{users_server.host}/user/ada/portal/api/tensorboards"],
    }

    answers = {
        name: subprocess.run(
            argv, user=ANOTHER_USER, extra_groups=[], capture_output=True, text=True
        )
        for name, argv in pages.items()
    }

    assert {name: answer.stdout for name, answer in answers.items()} == {
        "socket": "000",
        "proxy": "302",
        "rest": "403",
    }
    owner = subprocess.run(pages["socket"], user=USER, capture_output=True, text=True)
    assert owner.stdout == "200", "the same command works for the user"


@needs_root
def test_an_ordinary_user_gets_the_fast_loader_or_is_told(users_server: NotebookServer) -> None:
    board = users_server.open("logs")
    pids = users_server.tensorboard_pids()
    own = Path("/proc/self/ns/net").readlink()
    elsewhere = {Path(f"/proc/{pid}/ns/net").readlink() != own for pid in pids}

    assert bool(board["note"]) is not users_can_make_network_namespaces()
    if board["note"]:
        assert "does not let users make network namespaces" in board["note"]
        assert len(pids) == 1
    else:
        assert elsewhere == {True}
        assert len(pids) == 2, "TensorBoard and its data server"


NO_NAMESPACES = (
    *("unshare", "--user", "--map-root-user", "sh", "-c"),
    'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"',
    "sh",
)


@pytest.fixture
def strict_nodes_server(
    tmp_path_factory: pytest.TempPathFactory, tensorboard_python: Path
) -> Iterator[NotebookServer]:
    """A server on a node that does not let users make namespaces."""
    if subprocess.run([*NO_NAMESPACES, "true"], capture_output=True).returncode != 0:
        pytest.skip("this machine has no user namespaces that could be taken away")
    argv = (*NO_NAMESPACES, sys.executable, "-m", "jupyter_server")
    folder = tmp_path_factory.mktemp("strict")
    server = NotebookServer(folder, tensorboard_python, argv=argv)
    yield server
    server.stop()


def test_a_node_without_user_namespaces_shows_the_same_and_says_that_it_is_slow(
    strict_nodes_server: NotebookServer, tensorboard_python: Path
) -> None:
    write_run(tensorboard_python, strict_nodes_server.root / "runs" / "first")

    board = strict_nodes_server.open("runs")

    assert "does not let users make network namespaces. A large folder" in board["note"]
    eventually(lambda: shown_runs(strict_nodes_server, board) == ["first"], timeout_s=20)
    pids = strict_nodes_server.tensorboard_pids()
    assert sockets_of(pids) & listening_inodes() == set()


def test_no_command_line_names_a_folder_of_the_users(notebook_server: NotebookServer) -> None:
    """Everybody on the node reads command lines."""
    board = notebook_server.open("logs")
    assert notebook_server.page(board).ok
    pids = notebook_server.tensorboard_pids()

    words = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in pids]

    assert words
    assert not [line for line in words if bytes(notebook_server.root) in line]
