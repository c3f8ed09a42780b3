"""TensorBoards as a user of the REST interface sees them, with a stand-in for their program."""

import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from dsportal.slurm.errors import PortalError
from portal.server.viewers.folder import Folder
from portal.server.viewers.page import FolderPage, show, start_process
from portal.server.viewers.viewer import TENSORBOARD
from tests.programs.portal.server.conftest import STAND_IN
from tests.support.eventually import eventually, eventually_async
from tests.support.notebook_server import NotebookServer, descendants, is_alive
from tests.support.tensorboard_contract import *  # noqa: F403


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ('{"logdir": "100%s"}', "which does not exist. Refresh the file browser"),
        ('{"logdir": "../server.log"}', "which is outside your files. Choose a folder"),
        ('{"logdir": ""}', "for all your files"),
        ('{"logdir": "a\\u0000b"}', "outside your files"),
        ("{}", "needs a folder. Post"),
        ("logdir=logs", "not JSON"),
        ("\xff", "not JSON"),
        ("", "not JSON"),
    ],
)
def test_a_bad_request_gets_a_sentence_and_starts_nothing(
    notebook_server: NotebookServer, body: str, sentence: str
) -> None:
    answer = notebook_server.ask("POST", data=body.encode("latin-1"))

    assert answer.status_code == 400
    assert sentence in answer.json()["message"]
    assert notebook_server.ask("GET").json() == []
    assert notebook_server.sockets() == []


def test_one_too_many_is_refused_until_another_is_stopped(notebook_server: NotebookServer) -> None:
    boards = [notebook_server.open(name) for name in ("logs", "more", "runs")]

    refused = notebook_server.ask("POST", json={"logdir": "runs/first"})

    assert refused.status_code == 409
    assert "3 are open, the most for one session. Stop one" in refused.json()["message"]
    assert notebook_server.open("logs")["id"] == boards[0]["id"], "an open one is still found"
    notebook_server.ask("DELETE", f"/{boards[1]['id']}")
    notebook_server.open("runs/first")


def test_one_that_fails_to_start_shows_the_end_of_its_log(notebook_server: NotebookServer) -> None:
    answer = notebook_server.ask("POST", json={"logdir": "broken"})

    assert answer.status_code == 500
    assert "exit status 1 before it could be used" in answer.json()["message"]
    assert "The end of its log: no plugin of that name" in answer.json()["message"]
    assert notebook_server.ask("GET").json() == []


def test_a_list_that_is_read_starts_the_next_one_ahead_and_a_click_uses_it(tmp_path: Path) -> None:
    server = NotebookServer(tmp_path, STAND_IN)
    try:
        assert server.ask("GET").json() == []
        (ahead,) = eventually(server.tensorboard_pids, timeout_s=5)
        assert server.sockets() == []

        server.open("logs")
        server.ask("GET")

        assert server.tensorboard_pids() == [ahead], "the page that was opened comes first"
    finally:
        server.stop()
    eventually(lambda: not is_alive(ahead), timeout_s=5)


def test_one_that_was_started_ahead_and_died_is_not_used(tmp_path: Path) -> None:
    server = NotebookServer(tmp_path, STAND_IN)
    try:
        server.ask("GET")
        (ahead,) = eventually(server.tensorboard_pids, timeout_s=5)
        os.kill(ahead, signal.SIGKILL)
        eventually(lambda: not is_alive(ahead), timeout_s=5)

        assert server.page(server.open("logs")).status_code == 299
    finally:
        server.stop()


def no_new_process(before: list[int]) -> Callable[[], Awaitable[bool]]:
    async def check() -> bool:
        return set(descendants(os.getpid())) <= set(before)

    return check


async def start(python: Path, private_dir: Path) -> FolderPage:
    return await show(
        await start_process(TENSORBOARD, python=str(python), private_dir=private_dir),
        (Folder(name="mute", path=Path("mute")),),
        page_id="mute",
        base_url="/",
        timeout_s=0.2,
    )


async def test_one_that_never_answers_is_given_up_and_ended(tmp_path: Path) -> None:
    before = descendants(os.getpid())

    with pytest.raises(PortalError, match=r"did not start within 0\.2 s\. Try again"):
        await start(STAND_IN, tmp_path)

    await eventually_async(no_new_process(before), timeout_s=5)
    assert os.listdir(tmp_path) == []


async def test_a_missing_environment_is_named(tmp_path: Path) -> None:
    with pytest.raises(PortalError, match=r"python is no program.*administrators"):
        await start(tmp_path / "python", tmp_path)

    assert os.listdir(tmp_path) == []


def test_what_is_slower_than_it_should_be_is_said(notebook_server: NotebookServer) -> None:
    assert notebook_server.open("slow")["note"] == "slow"
    assert notebook_server.open("logs")["note"] == ""


@pytest.fixture
def hasty_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NotebookServer]:
    """A server of a site that stops idle TensorBoards soon, and allows one."""
    environ = {"JUPYTER_NO_CONFIG": "1", "PORTAL_SETTINGS": '{"tensorboard": {"limit": 1}}'}
    extensions = ("portal.server", "tests.support.hasty_tensorboards")
    folder = tmp_path_factory.mktemp("hasty")
    server = NotebookServer(folder, STAND_IN, environ=environ, extensions=extensions)
    yield server
    server.stop()


def test_an_idle_one_is_stopped_and_its_address_starts_it_again(
    hasty_server: NotebookServer,
) -> None:
    board = hasty_server.open("logs")

    eventually(lambda: hasty_server.tensorboard_pids() == [], timeout_s=10)
    assert hasty_server.ask("GET").json() == []

    assert hasty_server.page(board).status_code == 299, "a reload of the page wakes it"
    assert hasty_server.ask("GET").json() == [board]
    eventually(lambda: hasty_server.tensorboard_pids() == [], timeout_s=10)
    assert hasty_server.open("logs")["url"] == board["url"], "the button leads to the same page"


def test_an_idle_one_is_not_started_again_beyond_the_limit(hasty_server: NotebookServer) -> None:
    board = hasty_server.open("logs")

    def refusal() -> str:
        eventually(lambda: hasty_server.tensorboard_pids() == [], timeout_s=10)
        hasty_server.open("more")
        page = hasty_server.page(board)
        # On a busy machine the other one may be idle, too, before the page is asked for.
        return page.text if page.status_code == 409 else ""

    assert "1 are open, the most for one session" in eventually(refusal, timeout_s=30)


def test_folders_whose_names_would_be_one_are_compared(notebook_server: NotebookServer) -> None:
    for name in ("same/a/b_c", "same/a_b/c"):
        (notebook_server.root / name).mkdir(parents=True)

    assert notebook_server.open("same/a/b_c", "same/a_b/c")["logdir"] == "same"


def test_one_that_dies_is_forgotten_and_opened_again(
    notebook_server: NotebookServer,
) -> None:
    board = notebook_server.open("logs")
    (pid,) = notebook_server.tensorboard_pids()

    os.kill(pid, signal.SIGKILL)

    eventually(lambda: notebook_server.page(board).status_code == 404, timeout_s=5)
    assert notebook_server.open("logs")["id"] != board["id"]


def test_nobody_else_can_read_the_address_and_the_session_keeps_its_token(
    notebook_server: NotebookServer,
) -> None:
    board = notebook_server.open("logs")
    (pid,) = notebook_server.tensorboard_pids()

    command_line = Path(f"/proc/{pid}/cmdline").read_text()
    environment = Path(f"/proc/{pid}/environ").read_text()

    assert board["id"] not in command_line
    assert "HOME=" in environment
    assert "secret-of-the-session" not in environment
