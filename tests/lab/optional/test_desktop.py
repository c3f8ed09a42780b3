"""The desktop of deploy/site/tools as a web tool: in a browser, and what other users reach."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import expect  # noqa: E402

from tests.lab.optional.test_vscode import (  # noqa: E402
    ANOTHER_USER,
    TIMEOUT_MS,
    USER,
    needs_root,
)
from tests.needs import ensure_packages  # noqa: E402
from tests.support.chromium import logged_in_page  # noqa: E402
from tests.support.eventually import eventually  # noqa: E402
from tests.support.notebook_server import CHECKOUT, NotebookServer, descendants  # noqa: E402
from tests.support.tensorboard_contract import listening_inodes, sockets_of  # noqa: E402

PROGRAM = CHECKOUT / "deploy/site/tools/desktop"
DESKTOP = ("tigervnc-standalone-server", "novnc", "python3-tornado", "xauth", "xterm")
# In place of a window manager: says on which display it was started, and stays.
STAND_IN = "echo $DISPLAY > display; exec sleep 1000"
COMMAND = [str(PROGRAM), "{unix_socket}", "/bin/sh", "-c", STAND_IN]


@pytest.fixture(scope="module")
def server(tensorboard_python: Path) -> Iterator[NotebookServer]:
    """A session of an ordinary user on a node with the desktop's packages."""
    ensure_packages(*DESKTOP)
    tools = {"desktop": {"title": "Desktop", "command": COMMAND}}
    environ = {"JUPYTER_NO_CONFIG": "1", "PORTAL_SETTINGS": json.dumps({"tools": tools})}
    with tempfile.TemporaryDirectory(prefix="dsp-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        user_id = USER if os.getuid() == 0 else None
        server = NotebookServer(folder, tensorboard_python, environ=environ, user_id=user_id)
        for path in (folder, server.root, server.tmp_dir):
            path.chmod(0o755)
        yield server
        server.stop()


@needs_root
def test_a_desktop_is_seen_by_its_user_and_by_nobody_else(server: NotebookServer) -> None:
    (tool,) = server.http.get(f"{server.host}/user/ada/portal/api/tools", timeout=10).json()
    with logged_in_page(server) as page:
        page.goto(f"{server.host}{tool['url']}")
        screen = page.locator("canvas").first
        expect(screen).to_be_visible(timeout=TIMEOUT_MS)
        expect(page.locator("html")).to_have_class("noVNC_connected", timeout=TIMEOUT_MS)

    pids = descendants(server.process.pid)
    assert sockets_of(pids) & listening_inodes() == set()
    noted = server.root / "display"
    display = eventually(lambda: noted.exists() and noted.read_text().strip(), timeout_s=30)
    stranger = subprocess.run(
        ["/usr/bin/xterm", "-display", display, "-e", "true"],
        user=ANOTHER_USER,
        extra_groups=[],
        env={"PATH": "/usr/bin:/bin", "HOME": "/"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert stranger.returncode != 0
    assert "Authorization required" in stranger.stderr
