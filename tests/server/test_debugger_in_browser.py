"""JupyterLab's debugger in a notebook, in a headless Chromium: it stops where its user wants."""

import json
import os
import uuid
from pathlib import Path

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import expect  # noqa: E402

from tests.support.chromium import TIMEOUT_MS, logged_in_page  # noqa: E402
from tests.support.debugger import GREETING, mark_of, open_ports  # noqa: E402
from tests.support.notebook_server import start_jupyterlab  # noqa: E402
from tests.support.other_user import NEIGHBOUR, read  # noqa: E402

NOTEBOOK = {
    "cells": [
        {
            "cell_type": "code",
            "id": "adds",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": "epochs = 3\nepochs += 1\nprint('epochs', epochs)",
        }
    ],
    "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}


def test_a_cell_stops_at_a_breakpoint_and_no_other_user_reaches_the_debugger(
    tmp_path: Path, tensorboard_python: Path
) -> None:
    mark = uuid.uuid4().hex
    server = start_jupyterlab(tmp_path, tensorboard_python, mark_of(mark))
    try:
        (server.root / "adds.ipynb").write_text(json.dumps(NOTEBOOK))
        with logged_in_page(server, TIMEOUT_MS) as page:
            page.goto(f"{server.host}/user/ada/lab/workspaces/debug/tree/adds.ipynb?reset")
            lines = page.locator(".jp-CodeCell .cm-line")
            expect(lines.nth(1)).to_be_visible()
            before = open_ports(mark)

            page.get_by_role("button", name="Enable Debugger").click()

            expect(page.get_by_role("button", name="Disable Debugger")).to_be_visible()
            gutter = page.locator(".jp-CodeCell .cm-breakpoint-gutter .cm-gutterElement")
            gutter.nth(2).click()
            lines.nth(1).click()
            page.keyboard.press("Control+Enter")
            variables = page.locator(".jp-DebuggerVariables")
            expect(variables).to_contain_text("epochs")
            expect(page.locator(".jp-DebuggerCallstack-body")).to_contain_text("<module>")

            opened = [port for port in open_ports(mark) if port not in before]
            assert opened
            if os.getuid() == 0:
                assert read(opened, NEIGHBOUR, greeting=GREETING) == [0] * len(opened)

            page.get_by_role("button", name="Continue (F9)").click()
            expect(page.locator(".jp-CodeCell .jp-OutputArea")).to_contain_text("epochs 4")
    finally:
        server.stop()
