"""A page of a user's own program in a headless Chromium: it works, and is no page of the portal."""

from collections.abc import Iterator
from pathlib import Path

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from tests.support.chromium import logged_in_page  # noqa: E402
from tests.support.notebook_server import NotebookServer  # noqa: E402
from tests.support.port_program import running_programs, server_in_a_job  # noqa: E402


@pytest.fixture(scope="module")
def server(tensorboard_python: Path) -> Iterator[NotebookServer]:
    with server_in_a_job(tensorboard_python) as server:
        yield server


@pytest.fixture
def page(server: NotebookServer) -> Iterator[playwright.Page]:
    """A page of somebody who has logged in."""
    with logged_in_page(server) as page:
        yield page


def test_a_page_loads_its_modules_data_and_websocket_but_not_the_users_files(
    server: NotebookServer, page: playwright.Page
) -> None:
    with running_programs() as programs:
        page.goto(f"{server.host}/user/ada/port/{programs.start()}/page")

        page.wait_for_function("document.title != 'starts'")

        # Asking a sandboxed page for its cookies or storage would be an error.
        assert page.title() == "POST true refused a=b 1"
