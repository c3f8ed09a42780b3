"""Environments made in a real JupyterLab, and a notebook whose kernel is missing."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Page, expect  # noqa: E402

from tests.support.chromium import logged_in_page, picture  # noqa: E402
from tests.support.kernels import offered  # noqa: E402
from tests.support.notebook_server import NotebookServer, start_jupyterlab  # noqa: E402
from tests.support.wheels import make_wheel  # noqa: E402

TIMEOUT_MS = 120_000
KERNELSPEC = {"name": "own-tiny", "display_name": "Tiny of a colleague", "language": "python"}
NOTEBOOK = {
    "cells": [],
    "metadata": {"kernelspec": KERNELSPEC},
    "nbformat": 4,
    "nbformat_minor": 5,
}


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, tensorboard_python: Path
) -> Iterator[NotebookServer]:
    folder = tmp_path_factory.mktemp("environments")
    wheels = folder / "wheels"
    wheels.mkdir()
    make_wheel(wheels, "tiny", "1.0", "")
    server = start_jupyterlab(
        folder,
        tensorboard_python,
        {
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(wheels),
        },
    )
    (server.root / "theirs.ipynb").write_text(json.dumps(NOTEBOOK))
    yield server
    server.stop()


@pytest.fixture
def page(server: NotebookServer) -> Iterator[Page]:
    with logged_in_page(server, TIMEOUT_MS) as page:
        yield page


def test_a_notebook_whose_kernel_is_missing_gets_an_environment_of_its_name(
    server: NotebookServer, page: Page
) -> None:
    page.goto(f"{server.host}/user/ada/lab/workspaces/test/tree/theirs.ipynb?reset")
    dialog = page.locator(".jp-Dialog")
    expect(dialog).to_contain_text(
        "needs the kernel “Tiny of a colleague”, which this session does not have",
        timeout=TIMEOUT_MS,
    )
    expect(dialog).to_contain_text("These fit")
    expect(dialog.get_by_role("radio").first).to_be_checked()
    picture(page, "missing-kernel")
    dialog.get_by_label("Make an environment for it").check()
    dialog.get_by_role("button", name="Continue").click()

    expect(dialog.get_by_label("Short name")).to_have_value("tiny", timeout=TIMEOUT_MS)
    packages = dialog.get_by_role("textbox", name="Packages")
    packages.fill("absent-package")
    dialog.get_by_role("button", name="Make it").click()
    expect(dialog).to_contain_text("No versions of these packages were found", timeout=TIMEOUT_MS)
    # The sentence first; what the installer printed is folded.
    expect(dialog.get_by_label("Output")).to_be_hidden()
    dialog.get_by_text("Details").click()
    expect(dialog.get_by_label("Output")).to_contain_text("absent-package")
    picture(page, "environment-failed")
    dialog.get_by_role("button", name="Change it and try again").click()
    expect(packages).to_have_value("absent-package")
    expect(dialog.get_by_role("alert")).to_contain_text("Ask for other versions")
    picture(page, "new-environment-again")
    dialog.get_by_role("button", name="Cancel").click()

    assert "own-tiny" not in offered(server)


def test_an_environment_is_made_in_the_launcher_while_the_page_is_reloaded(
    server: NotebookServer, page: Page
) -> None:
    page.goto(f"{server.host}/user/ada/lab/workspaces/test?reset")
    page.locator(".jp-LauncherCard").get_by_text("New Environment").click(timeout=TIMEOUT_MS)
    dialog = page.locator(".jp-Dialog")
    hint = dialog.get_by_text("small letters, digits")
    colour = hint.evaluate("hint => getComputedStyle(hint).color")
    dialog.get_by_label("Short name").fill("Mine!")
    expect(hint).not_to_have_css("color", colour)
    dialog.get_by_label("Short name").fill("mine")
    expect(hint).to_have_css("color", colour)
    # A kernel brings its own Python.
    expect(dialog.get_by_label("Python version")).to_be_hidden()
    dialog.get_by_label("On top of").select_option("")
    expect(dialog.get_by_label("Python version")).to_be_visible()
    dialog.get_by_label("On top of").select_option(index=0)
    packages = dialog.get_by_role("textbox", name="Packages")
    packages.fill("absent-package")
    dialog.get_by_role("button", name="Make it").click()
    dialog.get_by_role("button", name="Close").click()
    page.locator(".jp-LauncherCard").get_by_text("New Environment").click()
    expect(packages).to_have_value("absent-package", timeout=TIMEOUT_MS)
    expect(dialog.get_by_label("Short name")).to_have_value("mine")
    packages.fill("tiny")
    picture(page, "new-environment")
    dialog.get_by_role("button", name="Make it").click()
    expect(dialog.get_by_role("progressbar")).to_be_visible(timeout=TIMEOUT_MS)
    picture(page, "making-environment")
    page.reload()

    told = page.get_by_text("Environment mine is ready").first
    expect(told).to_be_visible(timeout=TIMEOUT_MS)
    assert offered(server)["own-mine"] == "mine"
    page.get_by_role("button", name="Open a notebook").first.click()
    kernel = page.locator(".jp-NotebookPanel .jp-KernelName")
    expect(kernel).to_contain_text("mine", timeout=TIMEOUT_MS)


@pytest.mark.release
def test_a_shared_environment_is_updated_exported_and_removed_in_the_list(
    server: NotebookServer, page: Page
) -> None:
    page.goto(f"{server.host}/user/ada/lab/workspaces/test?reset")
    page.locator(".jp-LauncherCard").get_by_text("Environments", exact=True).click()
    panel, dialog = page.locator("#data-scientist-portal-environments"), page.locator(".jp-Dialog")
    panel.get_by_role("button", name="New Environment").click()
    dialog.get_by_label("Short name").fill("course")
    dialog.get_by_role("textbox", name="Packages").fill("tiny==1.0")
    dialog.get_by_role("textbox", name="Folder").fill("project")
    dialog.get_by_label("The group of this folder can use it").check()
    dialog.get_by_role("button", name="Make it").click()
    expect(dialog).to_contain_text("Environment course is ready", timeout=TIMEOUT_MS)
    dialog.get_by_role("button", name="Close").click()

    line = panel.get_by_role("row").filter(has_text="project/course")
    expect(line).to_contain_text("Ready, shared with the group root")
    expect(line).to_contain_text("MiB")
    picture(page, "environments")
    line.get_by_role("button", name="Share").click()
    picture(page, "share-environment")
    dialog.get_by_label("Group").select_option("")
    dialog.get_by_role("button", name="Change it").click()
    expect(line).not_to_contain_text("shared with", timeout=TIMEOUT_MS)
    line.get_by_role("button", name="Share").click()
    dialog.get_by_label("Group").select_option("root")
    dialog.get_by_role("button", name="Share it").click()
    expect(dialog).to_contain_text("take it with: dsportal environments add", timeout=TIMEOUT_MS)
    picture(page, "shared-environment")
    dialog.get_by_role("button", name="Close").click()
    expect(line).to_contain_text("shared with the group root")

    line.get_by_role("button", name="Update").click()
    expect(dialog).to_contain_text("Choosing versions.", timeout=TIMEOUT_MS)
    expect(dialog).to_have_count(0, timeout=TIMEOUT_MS)
    line.get_by_role("button", name="Export").click()
    exported = server.root / "requirements-course.txt"
    expect(page.locator(".jp-FileEditor")).to_contain_text("tiny==1.0", timeout=TIMEOUT_MS)
    assert "--like" in exported.read_text()

    page.get_by_role("tab", name="Environments").click()
    line.get_by_role("button", name="Remove").click()
    expect(dialog).to_contain_text("project/course will be deleted")
    dialog.get_by_role("button", name="Remove").click()
    expect(line).to_have_count(0, timeout=TIMEOUT_MS)
    assert not (server.root / "project/course").exists()
