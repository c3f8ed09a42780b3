"""The Git panel in a real notebook server: its routes, a password, somebody else's folder."""

import json
import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
import pytest

from portal.server.git.settings import offer_git
from tests.support.eventually import eventually
from tests.support.git_server import PASSWORD, REPOSITORY, USER_NAME, GitServer
from tests.support.notebook_server import NotebookServer, server_python, start_jupyterlab

USER, ANOTHER_USER = 12345, 65534
# What the panel asks when somebody opens a folder, and what its buttons do without changing it.
LOOKS = (
    "show_top_level",
    "show_prefix",
    "status",
    "branch",
    "log",
    "diff",
    "changed_files",
    "stash",
)
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can become two other users")
pytestmark = needs_root


@pytest.fixture(scope="module")
def server(tensorboard_python: Path) -> Iterator[NotebookServer]:
    with running_server(tensorboard_python) as server:
        yield server


@pytest.fixture
def own_server(tensorboard_python: Path) -> Iterator[NotebookServer]:
    """A server that a test may end."""
    with running_server(tensorboard_python) as server:
        yield server


@contextmanager
def running_server(tensorboard_python: Path) -> Iterator[NotebookServer]:
    with tempfile.TemporaryDirectory(prefix="dsp-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        environ = {"PORTAL_SETTINGS": json.dumps({"git": {"enabled": True}})}
        server = start_jupyterlab(folder, tensorboard_python, environ, USER)
        yield server
        server.stop()


@pytest.fixture
def git_server(tmp_path: Path) -> Iterator[GitServer]:
    server = GitServer(tmp_path)
    yield server
    server.stop()


def ask_git(server: NotebookServer, folder: str, order: str, **body: Any) -> dict[str, Any]:
    url = f"{server.host}/user/ada/git/{folder}/{order}"
    answer = server.http.post(url, json=body, timeout=60)
    said: dict[str, Any] = answer.json() if answer.content else {"code": 0}
    return said


def git(*arguments: object, user: int | None = None) -> None:
    command = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *arguments]
    subprocess.run(
        [str(word) for word in command],
        check=True,
        cwd="/",
        user=user,
        group=user,
        env={"PATH": "/usr/bin:/bin"},
    )


def test_a_changed_file_shows_in_the_panel(server: NotebookServer) -> None:
    folder = server.root / "course"
    git("init", "-q", folder, user=USER)
    (folder / "notes.txt").write_text("new\n")

    assert ask_git(server, "course", "show_top_level")["path"] == str(folder)
    (changed,) = ask_git(server, "course", "status")["files"]
    assert (changed["x"], changed["to"]) == ("?", "notes.txt")


def test_a_visible_panel_is_no_activity(server: NotebookServer) -> None:
    def last_activity() -> str:
        status = server.http.get(f"{server.host}/user/ada/api/status", timeout=30)
        return str(status.json()["last_activity"])

    before = last_activity()
    ask_git(server, "", "status")

    assert last_activity() == before


def test_looking_at_a_repository_of_somebody_else_runs_nothing_of_it(
    server: NotebookServer,
) -> None:
    folder = server.root / "theirs"
    marks = server.root.parent / "marks"
    marks.mkdir()
    marks.chmod(0o777)
    set_trap(folder, marks)
    as_owner = {"user": ANOTHER_USER, "group": ANOTHER_USER, "env": {"PATH": "/usr/bin:/bin"}}
    subprocess.run(["git", "status"], cwd=folder, check=False, capture_output=True, **as_owner)
    assert list(marks.iterdir()), "so that the trap is one: its owner springs it"
    for mark in marks.iterdir():
        mark.unlink()

    answers = {order: ask_git(server, "theirs", order) for order in LOOKS}

    assert not list(marks.iterdir())
    assert "files" not in answers["status"], answers["status"]


def set_trap(folder: Path, marks: Path) -> None:
    """Make a repository of somebody else whose every setting runs a program."""
    git("init", "-q", folder)
    (folder / "a.txt").write_text("a\n")
    git("-C", folder, "add", ".")
    git("-C", folder, "commit", "-q", "-m", "first")
    (folder / "a.txt").write_text("b\n")
    (folder / ".gitattributes").write_text("* filter=trap diff=trap\n")
    trap = folder / "trap"
    trap.write_text(f"#!/bin/sh\nmktemp {marks}/XXXXXX >/dev/null\ncat\n")
    trap.chmod(0o755)
    for name in (
        *("core.fsmonitor", "core.sshCommand", "core.pager", "core.editor"),
        *("filter.trap.clean", "diff.trap.textconv", "diff.trap.command"),
    ):
        git("-C", folder, "config", name, trap)
    git("-C", folder, "config", "credential.helper", f"!{trap}")
    for name in ("post-checkout", "post-index-change", "pre-commit"):
        hook = folder / ".git" / "hooks" / name
        hook.write_text(trap.read_text())
        hook.chmod(0o755)
    subprocess.run(["chown", "-R", f"{ANOTHER_USER}:{ANOTHER_USER}", folder], check=True)
    folder.chmod(0o777)


def clone(server: NotebookServer, git_server: GitServer) -> None:
    auth = {"username": USER_NAME, "password": PASSWORD, "cache_credentials": True}
    options = {"auth": auth, "versioning": True, "submodules": False}
    said = ask_git(server, "", "clone", clone_url=git_server.url, **options)
    assert said["code"] == 0, said


def test_a_password_is_asked_for_once_and_ends_with_the_session(
    own_server: NotebookServer, git_server: GitServer
) -> None:
    clone(own_server, git_server)

    fetched = ask_git(own_server, REPOSITORY, "remote/fetch", auth=None)
    assert fetched["code"] == 0, fetched
    files = [path for path in own_server.root.rglob("*") if path.is_file()]
    assert not [path for path in files if PASSWORD.encode() in path.read_bytes()]
    assert not [path for path in own_server.root.iterdir() if path.name.startswith(".git")]

    (socket,) = own_server.tmp_dir.glob("dsportal-*/git/credentials")
    assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700
    keepers = [pid for pid in Path("/proc").glob("[0-9]*") if str(socket) in argv_of(pid)]
    assert keepers

    own_server.stop()

    eventually(lambda: not any(str(socket) in argv_of(pid) for pid in keepers), timeout_s=20)


def argv_of(process: Path) -> list[str]:
    try:
        return (process / "cmdline").read_text().split("\0")
    except OSError:
        return []


def test_a_notebook_is_compared_by_cells(server: NotebookServer) -> None:
    folder = server.root / "notebooks"
    git("init", "-q", folder, user=USER)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x = 1")])
    nbformat.write(notebook, folder / "a.ipynb")
    git("-C", folder, "add", ".", user=USER)
    notebook.cells[0].source = "x = 2"
    nbformat.write(notebook, folder / "a.ipynb")

    environ = {"PATH": "/usr/bin:/bin", "HOME": str(server.root)}
    offer_git(environ, server_python().parents[1], server.tmp_dir)
    argv = ["git", "-C", str(folder), "diff"]
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, check=True, user=USER)

    assert "nbdiff" in done.stdout
    assert "-x = 1" in done.stdout.replace("-  ", "-")
