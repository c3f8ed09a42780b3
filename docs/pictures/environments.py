"""The scene of environments: making one, and a notebook whose kernel is missing."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from docs.pictures.studio import TIMEOUT_MS, USER, Studio
from tests.browser.test_waiting import run_as

# A notebook of a colleague who has made an environment.
WRITE_NOTEBOOK = """\
import json, pathlib
spec = {"name": "own-torch-nlp", "display_name": "Torch for NLP", "language": "python"}
text = {"cells": [], "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 5}
(pathlib.Path.home() / "theirs.ipynb").write_text(json.dumps(text))
"""
REMOVE_NOTEBOOK = "import pathlib; (pathlib.Path.home() / 'theirs.ipynb').unlink()"


def take_environments(studio: Studio, open_session: Callable[[Page], None]) -> None:
    """The dialog for a new environment, and that for a notebook whose kernel is missing."""
    studio.start()
    run_as(USER, "python3", "-c", WRITE_NOTEBOOK)
    with studio.look(logged_in=True) as page:
        open_session(page)
        # Not the workspace with what the user had open.
        lab = re.sub(r"/lab.*", "/lab/workspaces/test", page.url)
        page.goto(f"{lab}?reset")
        page.locator(".jp-LauncherCard").get_by_text("New Environment").click()
        dialog = page.locator(".jp-Dialog")
        dialog.get_by_label("Short name").fill("nlp")
        dialog.get_by_role("textbox", name="Packages").fill("einops\nlightning")
        studio.save(page, "new-environment")
        page.goto(f"{lab}/tree/theirs.ipynb?reset")
        expect(dialog).to_contain_text("which this session does not have", timeout=TIMEOUT_MS)
        studio.save(page, "missing-kernel")
    run_as(USER, "python3", "-c", REMOVE_NOTEBOOK)
    studio.stop()
