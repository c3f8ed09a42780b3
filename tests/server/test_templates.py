"""The cards of templates, and what they open, on a site with environments of its own."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Page, expect  # noqa: E402

from tests.support.chromium import logged_in_page  # noqa: E402
from tests.support.eventually import throughout  # noqa: E402
from tests.support.notebook_server import NotebookServer, server_python, start_jupyterlab  # noqa: E402

TIMEOUT_MS = 60_000


def notebook(title: str, *packages: str) -> str:
    """Return a template for a kernel that this site does not have."""
    kernelspec = {"name": "elsewhere", "display_name": "Elsewhere", "language": "python"}
    cell = {"cell_type": "markdown", "id": "a", "metadata": {}, "source": [f"# {title}"]}
    metadata = {"kernelspec": kernelspec, "portal": {"packages": packages}}
    return json.dumps({"cells": [cell], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})


def make_environment(folder: Path) -> None:
    """Make an environment over the server's, with a package that no other kernel has."""
    subprocess.run([server_python(), "-m", "venv", "--without-pip", folder], check=True)
    (site_packages,) = folder.glob("lib/python3*/site-packages")
    (below,) = server_python().parents[1].glob("lib/python3*/site-packages")
    (site_packages / "below.pth").write_text(f"{below}\n")
    (site_packages / "fenics-2019.1.dist-info").mkdir()
    (site_packages / "fenics-2019.1.dist-info/METADATA").write_text(
        "Metadata-Version: 2.1\nName: fenics\nVersion: 2019.1\n"
    )


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, tensorboard_python: Path
) -> Iterator[NotebookServer]:
    folder = tmp_path_factory.mktemp("templates")
    make_environment(folder / "fenics")
    registry = folder / "environments.toml"
    registry.write_text(f'[fenics]\nname = "Site FEniCS"\nvirtualenv = "{folder}/fenics"\n')
    templates = folder / "templates/physics"
    templates.mkdir(parents=True)
    (templates / "runs.ipynb").write_text(notebook("It runs", "fenics>=2018"))
    (templates / "lacks.ipynb").write_text(notebook("It lacks", "fenics>=2020"))
    server = start_jupyterlab(
        folder,
        tensorboard_python,
        {
            "PORTAL_SETTINGS": json.dumps({"environments": {"registry": str(registry)}}),
            "PORTAL_TEMPLATES_DIR": str(folder / "templates"),
        },
    )
    yield server
    server.stop()


@pytest.fixture
def launcher(server: NotebookServer) -> Iterator[Page]:
    with logged_in_page(server) as page:
        page.goto(f"{server.host}/user/ada/lab/workspaces/test?reset")
        yield page


def test_a_card_opens_a_copy_of_its_template_with_that_kernel(
    server: NotebookServer, launcher: Page
) -> None:
    launcher.get_by_label("Search the launcher").fill("physics runs", timeout=TIMEOUT_MS)
    cards = launcher.locator(".jp-LauncherCard:visible")
    expect(cards).to_have_count(1)
    cards.click()

    panel = launcher.locator(".jp-NotebookPanel")
    expect(panel.locator(".jp-KernelName")).to_contain_text("Site FEniCS", timeout=TIMEOUT_MS)
    copy = json.loads((server.root / "work/physics/runs.ipynb").read_text())
    assert copy["metadata"]["kernelspec"]["name"] == "site-fenics"
    expect(panel.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]")).to_have_count(
        1, timeout=TIMEOUT_MS
    )


def test_a_notebook_that_was_only_opened_is_not_marked_as_changed(launcher: Page) -> None:
    launcher.locator(".jp-LauncherCard").get_by_text("It runs").click(timeout=TIMEOUT_MS)
    # The kernel has told its version, which JupyterLab writes into the notebook.
    launcher.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").wait_for()
    changed = launcher.locator(".jp-NotebookPanel.jp-mod-dirty, .lm-TabBar-tab.jp-mod-dirty")

    throughout(lambda: changed.count() == 0, 2)

    launcher.locator(".jp-NotebookPanel .jp-Cell").first.click()
    launcher.keyboard.press("b")
    expect(changed.first).to_be_attached(timeout=TIMEOUT_MS)


def test_a_card_without_a_kernel_tells_the_next_step_when_it_is_opened(launcher: Page) -> None:
    launcher.locator(".jp-LauncherCard").get_by_text("It lacks").click(timeout=TIMEOUT_MS)

    expect(launcher.get_by_text("No kernel of this session has everything").first).to_be_visible(
        timeout=TIMEOUT_MS
    )
