"""A real notebook server on the real TensorBoard; no hub and no Slurm."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.register_assert_rewrite("tests.support.tensorboard_contract")

from tests.support.chromium import log_in, start_chromium  # noqa: E402
from tests.support.notebook_server import NotebookServer, start_jupyterlab  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

ENVIRONMENT = Path("/opt/data-scientist-portal/environments/tensorboard/bin/python")


@pytest.fixture(scope="session")
def tensorboard_python() -> Path:
    """The Python of the portal's own environment, else this one."""
    if os.access(ENVIRONMENT, os.X_OK):
        return ENVIRONMENT
    if importlib.util.find_spec("tensorboard") is None:
        pytest.skip(f"neither {ENVIRONMENT} nor this Python has tensorboard")
    return Path(sys.executable)


@pytest.fixture(scope="session")
def one_server(
    tmp_path_factory: pytest.TempPathFactory, tensorboard_python: Path
) -> Iterator[NotebookServer]:
    server = NotebookServer(tmp_path_factory.mktemp("real"), tensorboard_python)
    yield server
    server.stop()


@pytest.fixture
def notebook_server(one_server: NotebookServer) -> Iterator[NotebookServer]:
    yield one_server
    one_server.close_all()


@pytest.fixture
def own_server(
    tmp_path_factory: pytest.TempPathFactory, tensorboard_python: Path
) -> Iterator[NotebookServer]:
    """A server that a test may end."""
    server = NotebookServer(tmp_path_factory.mktemp("own"), tensorboard_python)
    yield server
    server.kill()


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, tensorboard_python: Path
) -> Iterator[NotebookServer]:
    """JupyterLab and Notebook without settings, for modules that have no server of their own."""
    server = start_jupyterlab(tmp_path_factory.mktemp("lab"), tensorboard_python)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with start_chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def context(browser: Browser, server: NotebookServer) -> BrowserContext:
    """Windows that are logged in to the server of a module."""
    return log_in(browser, server)
