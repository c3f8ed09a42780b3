"""Nobody is kept out of a session by a file of their own, and nothing keeps it from its end."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.session_server import session_server

CONFIG = ".jupyter/jupyter_server_config.py"
EXTENSIONS = ("portal.server", "jupyterlab", "notebook")
KERNEL = {"argv": ["/gone/bin/python"], "display_name": "Old Python 3", "language": "python"}


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / "home" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.mark.parametrize(
    "line",
    [
        "c.ServerApp.root_dir = '/gone'",
        "c.ServerApp.sock = '/tmp/elsewhere'",
        "c.ServerApp.contents_manager_class = 'gone.Manager'",
    ],
)
def test_what_only_the_portal_decides_is_ignored_in_a_users_configuration(
    tmp_path: Path, line: str
) -> None:
    with session_server(write(tmp_path, {CONFIG: line})) as server:
        assert server.get("portal/api/session").json()["notices"] == []
        assert "api/contents" in server.get("api/contents").url

    assert f"{CONFIG} sets {line.split()[0][2:]}" in (tmp_path / "session.log").read_text()


@pytest.mark.parametrize(
    "line",
    [
        "c.FileContentsManager.root_dir = '/gone'",
        "c.ServerApp.iopub_msg_rate_limit = 'many'",
        "import sys; sys.exit(3)",
        "c.ServerApp.jinja_environment_options = {'gone': 1}",
    ],
)
def test_a_configuration_with_which_the_server_does_not_start_is_done_without(
    tmp_path: Path, line: str
) -> None:
    with session_server(write(tmp_path, {CONFIG: line})) as server:
        (notice,) = server.get("portal/api/session").json()["notices"]

    assert f"Correct or remove: ~/{CONFIG}" in notice


def test_an_extension_of_jupyterlab_that_cannot_be_read_is_skipped(tmp_path: Path) -> None:
    broken = {".local/share/jupyter/labextensions/broken/package.json": "{broken"}
    with session_server(write(tmp_path, broken), extensions=EXTENSIONS) as server:
        assert [server.get(path).status_code for path in ("lab", "tree")] == [200, 200]
        (notice,) = server.get("portal/api/session").json()["notices"]

    assert "labextensions/broken: a file of it cannot be read" in notice


def test_a_shipped_kernel_keeps_its_name(tmp_path: Path) -> None:
    own = {".local/share/jupyter/kernels/python3/kernel.json": json.dumps(KERNEL)}
    with session_server(write(tmp_path, own)) as server:
        spec = server.get("api/kernelspecs/python3").json()["spec"]
        (notice,) = server.get("portal/api/session").json()["notices"]

    assert spec["display_name"] != KERNEL["display_name"]
    assert "Your own kernel python3 is not offered: its program, /gone/bin/python" in notice


def test_an_extension_that_fails_at_the_end_does_not_keep_the_server(tmp_path: Path) -> None:
    extensions = ("portal.server", "tests.support.failing_end")
    with session_server(tmp_path, extensions=extensions) as server:
        assert server.get("api/status").ok

    # That it has ended is what `session_server` waits for.
    assert "what the start should have made" in (tmp_path / "session.log").read_text()
