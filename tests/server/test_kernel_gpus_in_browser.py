"""The button beside the name of a notebook's kernel, in a headless Chromium."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Page, expect  # noqa: E402

from tests.support.chromium import TIMEOUT_MS, log_in, start_chromium  # noqa: E402
from tests.support.notebook_server import CHECKOUT, NotebookServer, start_jupyterlab  # noqa: E402

PICTURES_DIR = CHECKOUT / "tests" / "output" / "server"


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, tensorboard_python: Path
) -> Iterator[NotebookServer]:
    server = start_jupyterlab(tmp_path_factory.mktemp("gpus"), tensorboard_python)
    yield server
    server.stop()


@pytest.fixture
def page(server: NotebookServer) -> Iterator[Page]:
    """A tab with a notebook and its kernel."""
    content = {
        "cells": [],
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    (server.root / "trains.ipynb").write_text(json.dumps(content))
    with start_chromium() as browser:
        page = log_in(browser, server).new_page()
        page.goto(f"{server.host}/user/ada/lab/tree/trains.ipynb")
        yield page


def test_the_button_shows_what_the_kernel_has_and_says_what_cannot_be(page: Page) -> None:
    button = page.get_by_role("button", name="no GPU")
    expect(button).to_be_visible(timeout=TIMEOUT_MS)
    expect(page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]")).to_be_visible(
        timeout=TIMEOUT_MS
    )
    button.click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("This kernel has no GPU")
    page.screenshot(path=PICTURES_DIR / "kernel-gpus.png")

    dialog.get_by_label("GPUs").fill("many")
    dialog.get_by_role("button", name="Start the kernel anew").click()

    expect(page.get_by_text("'many', which is not a number of GPUs")).to_be_visible()
    expect(button).to_be_visible()
