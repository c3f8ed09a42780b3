"""Somebody from Colab with a notebook of theirs, click by click, to its PDF."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import BrowserContext, Locator, Page, Response, expect  # noqa: E402

from tests.support.chromium import picture  # noqa: E402
from tests.support.notebook_server import NotebookServer, start_jupyterlab  # noqa: E402

pytestmark = pytest.mark.release

PYTORCH = "/opt/data-scientist-portal/environments/pytorch/bin/python"
TIMEOUT_MS = 120_000
MAKE_MODEL = """
from transformers import BertConfig, BertModel
sizes = dict(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64)
BertModel(BertConfig(vocab_size=100, **sizes)).save_pretrained("models/tiny")
"""
LOAD = "from transformers import AutoModel\nprint(AutoModel.from_pretrained('{}').num_parameters())"
MOUNT, INSTALL, READ, LOG, BOARD = range(5)
CELLS = [
    "from google.colab import drive\ndrive.mount('/content/drive')",
    # It is there, so no index is asked.
    "!pip install tqdm",
    LOAD.format("/content/drive/MyDrive/models/tiny"),
    "from torch.utils.tensorboard import SummaryWriter\nSummaryWriter('logs').add_scalar('a', 1)",
    "%load_ext tensorboard\n%tensorboard --logdir logs",
]


def notebook() -> bytes:
    """Return what Colab's "Download .ipynb" saves."""
    cells = [
        {
            "cell_type": "code",
            "execution_count": None,
            "metadata": {"id": f"cell{number}"},
            "outputs": [],
            "source": source.splitlines(keepends=True),
        }
        for number, source in enumerate(CELLS)
    ]
    metadata = {
        "accelerator": "GPU",
        "colab": {"provenance": [], "gpuType": "T4"},
        "kernelspec": {"name": "python3", "display_name": "Python 3"},
        "language_info": {"name": "python"},
    }
    content = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 0}
    return json.dumps(content).encode()


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, tensorboard_python: Path
) -> Iterator[NotebookServer]:
    """A session whose user has a model in a folder."""
    server = start_jupyterlab(tmp_path_factory.mktemp("colab"), tensorboard_python)
    subprocess.run([PYTORCH, "-c", MAKE_MODEL], cwd=server.root, check=True, timeout=120)
    yield server
    server.stop()


@pytest.fixture
def page(context: BrowserContext, server: NotebookServer) -> Page:
    page = context.new_page()
    page.goto(f"{server.host}/user/ada/lab/workspaces/colab?reset")
    expect(page.locator(".jp-DirListing-item").first).to_be_visible(timeout=TIMEOUT_MS)
    return page


def cell(page: Page, number: int) -> Locator:
    return page.locator(".jp-Notebook .jp-CodeCell").nth(number)


def run(page: Page, number: int) -> Locator:
    """Run a cell; return its output."""
    cell(page, number).locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")
    return cell(page, number).locator(".jp-OutputArea")


def upload(page: Page) -> None:
    with page.expect_file_chooser() as chooser:
        page.locator("[title='Upload Files']").first.click()
    chooser.value.set_files(
        {"name": "colab.ipynb", "mimeType": "application/json", "buffer": notebook()}
    )


def choose_kernel(page: Page, name: str) -> None:
    page.get_by_role("button", name="Python 3").first.click()
    dialog = page.get_by_role("dialog")
    choices = dialog.locator("select")
    label = choices.locator("option", has_text=re.compile(f"^{name}")).first.inner_text()
    choices.select_option(label=label)
    dialog.get_by_role("button", name="Select").click()
    status = page.locator("#jp-main-statusbar")
    expect(status).to_contain_text(re.compile(f"{name}.*Idle"), timeout=TIMEOUT_MS)


def is_pdf(answer: Response) -> bool:
    return answer.headers.get("content-type", "").startswith("application/pdf")


def test_a_notebook_of_colab_runs_to_its_pdf(page: Page, context: BrowserContext) -> None:
    upload(page)
    page.locator(".jp-DirListing-item", has_text="colab.ipynb").dblclick()
    expect(page.locator("#jp-main-statusbar")).to_contain_text("Idle", timeout=TIMEOUT_MS)

    expect(run(page, MOUNT)).to_contain_text("need no drive.mount", timeout=TIMEOUT_MS)
    expect(run(page, INSTALL)).to_contain_text("already satisfied", timeout=TIMEOUT_MS)
    expect(run(page, READ)).to_contain_text("is in the kernel PyTorch", timeout=TIMEOUT_MS)
    picture(page, "colab-1-advice")

    choose_kernel(page, "PyTorch")
    cell(page, READ).locator(".cm-content").click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(LOAD.format("models/tiny"))
    expect(run(page, READ)).to_contain_text(re.compile("[0-9]{5}"), timeout=TIMEOUT_MS)

    run(page, LOG)
    board = run(page, BOARD).get_by_role("link", name="TensorBoard of logs")
    expect(board).to_be_visible(timeout=TIMEOUT_MS)
    with context.expect_page() as opened:
        board.click()
    expect(opened.value).to_have_title("logs - TensorBoard", timeout=TIMEOUT_MS)
    opened.value.close()

    page.get_by_role("menuitem", name="File", exact=True).click()
    page.locator(".lm-Menu-itemLabel").get_by_text("Save and Export Notebook As").hover()
    with context.expect_event("response", is_pdf, timeout=TIMEOUT_MS) as answered:
        page.locator(".lm-Menu-itemLabel").get_by_text("PDF", exact=True).click()
    assert answered.value.status == requests.codes.ok
    picture(page, "colab-2-end")
