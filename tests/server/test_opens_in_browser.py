"""What opens at the start, as the form's choice names it in the address of JupyterLab."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Page, expect  # noqa: E402

from tests.server.test_web_tools import ON_A_SOCKET  # noqa: E402
from tests.support.chromium import logged_in_page  # noqa: E402
from tests.support.kernels import ask  # noqa: E402
from tests.support.notebook_server import NotebookServer, start_jupyterlab  # noqa: E402

TIMEOUT_MS = 60_000
TOOL = {
    "title": "My Tool",
    "command": ["/usr/bin/python3", "-c", ON_A_SOCKET, "{unix_socket}"],
}


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, tensorboard_python: Path
) -> Iterator[NotebookServer]:
    server = start_jupyterlab(
        tmp_path_factory.mktemp("opens"),
        tensorboard_python,
        {"PORTAL_SETTINGS": json.dumps({"tools": {"own": TOOL}})},
    )
    yield server
    server.stop()


@pytest.fixture
def page(server: NotebookServer) -> Iterator[Page]:
    with logged_in_page(server) as page:
        yield page


def test_a_terminal_opens_once(server: NotebookServer, page: Page) -> None:
    for _ in range(2):
        page.goto(f"{server.host}/user/ada/lab?opens=Terminal")
        expect(page.locator(".jp-Terminal")).to_have_count(1, timeout=TIMEOUT_MS)

    assert len(ask(server, "GET", "api/terminals")) == 1


def test_a_tool_opens_in_the_place_of_jupyterlab(server: NotebookServer, page: Page) -> None:
    page.goto(f"{server.host}/user/ada/lab?opens=My+Tool")

    # What the tool was told: its path, no token, and the path of its pages.
    told = re.compile(r"^/ None /user/ada/portal/tools/")
    expect(page.locator("body")).to_have_text(told, timeout=TIMEOUT_MS)


def test_a_tool_that_the_node_lacks_is_named(server: NotebookServer, page: Page) -> None:
    page.goto(f"{server.host}/user/ada/lab?opens=VS+Code")

    expect(page.get_by_text("This node does not have VS Code")).to_be_visible(timeout=TIMEOUT_MS)
