"""The Git panel on the page of JupyterLab."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Browser, Page, expect  # noqa: E402

from tests.server.test_tensorboard_in_browser import (  # noqa: E402
    PAGE_TIMEOUT_MS,
    picture,
)
from tests.support.chromium import log_in  # noqa: E402
from tests.support.notebook_server import NotebookServer, start_jupyterlab  # noqa: E402


@pytest.fixture(params=[True, False], ids=["on", "off"])
def has_git(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def server(tmp_path: Path, tensorboard_python: Path, has_git: bool) -> Iterator[NotebookServer]:
    environ = {"PORTAL_SETTINGS": json.dumps({"git": {"enabled": has_git}})}
    server = start_jupyterlab(tmp_path, tensorboard_python, environ)
    yield server
    server.stop()


@pytest.fixture
def page(browser: Browser, server: NotebookServer) -> Iterator[Page]:
    context = log_in(browser, server)
    yield context.pages[0]
    context.close()


def test_the_panel_is_there_if_the_site_has_git_in_sessions(
    page: Page, server: NotebookServer, has_git: bool
) -> None:
    folder = server.root / "course"
    subprocess.run(["git", "init", "-q", "-b", "main", folder], check=True)
    (folder / "notes.txt").write_text("new\n")

    page.goto(f"{server.host}/user/ada/lab/tree/course/notes.txt?reset")

    files = page.locator(".jp-SideBar .lm-TabBar-tab[data-id=filebrowser]")
    expect(files).to_be_visible(timeout=PAGE_TIMEOUT_MS)
    tab = page.locator(".jp-SideBar .lm-TabBar-tab[data-id=jp-git-sessions]")
    expect(tab).to_have_count(1 if has_git else 0)
    if has_git:
        tab.click()
        expect(page.locator("#jp-git-sessions")).to_contain_text(re.compile("main"))
        expect(page.locator("#jp-git-sessions")).to_contain_text("notes.txt")
        picture(page, "git-panel")
    expect(page.locator(".jp-Dialog")).to_have_count(0)
