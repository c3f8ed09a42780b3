"""The S3 drive in JupyterLab, click by click in Chromium."""

import hashlib
import json
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import BrowserContext, Locator, Page, expect  # noqa: E402

from tests.support.chromium import TIMEOUT_MS, picture  # noqa: E402
from tests.support.notebook_server import NotebookServer, server_python, start_jupyterlab  # noqa: E402
from tests.support.s3_server import S3Server  # noqa: E402

# Before its first question the server loads the client of S3.
expect.set_options(timeout=TIMEOUT_MS)
# Written as a cell does, by a kernel's environment.
FILES = """
import pandas
from PIL import Image
pandas.DataFrame({"digit": range(1000)}).to_parquet("table.parquet")
Image.new("RGB", (40, 30), "red").save("digit.png")
svg = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"/>'
open("curve.svg", "w").write(svg)
"""
DATA = random.Random(5).randbytes(50 * 1024 * 1024)


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    server = S3Server("ada")
    for bucket in ("lab", "empty"):
        server.ask("ada", "create_bucket", Bucket=bucket)
    server.ask("ada", "put_object", b"digit,n\n7,1028\n", Bucket="lab", Key="counts.csv")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def server(
    s3: S3Server, tmp_path_factory: pytest.TempPathFactory, tensorboard_python: Path
) -> Iterator[NotebookServer]:
    files = {"resumable_uploads": True, "previews": True}
    settings = {"s3": {"endpoint": s3.url}, "files": files}
    environ = {"PORTAL_SETTINGS": json.dumps(settings)}
    folder = tmp_path_factory.mktemp("s3")
    server = start_jupyterlab(folder, tensorboard_python, environ)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def page(context: BrowserContext, server: NotebookServer) -> Page:
    page = context.new_page()
    page.goto(f"{server.host}/user/ada/lab?reset")
    expect(page.locator(".jp-LauncherCard", has_text="S3")).to_be_visible(timeout=TIMEOUT_MS)
    return page


def drive(page: Page) -> Locator:
    return page.locator("#data-scientist-portal-s3")


def item(page: Page, name: str) -> Locator:
    return drive(page).locator(".jp-DirListing-item").filter(has_text=name).first


def refresh(page: Page) -> None:
    drive(page).get_by_title("Refresh").or_(
        drive(page).locator("[data-jp-item-name=refresh] jp-button")
    ).first.click()


def test_who_does_not_open_s3_meets_nothing_of_it(
    context: BrowserContext, server: NotebookServer
) -> None:
    # Of a first try.
    for notebook in server.root.glob("*.ipynb"):
        notebook.unlink()
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{server.host}/user/ada/lab/workspaces/without?reset")
    page.locator(".jp-LauncherCard[data-category=Notebook]").first.click(timeout=TIMEOUT_MS)
    expect(page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]")).to_be_visible()
    # Made at the top of the home, whose changes JupyterLab takes for those of S3.
    assert [path.name for path in server.root.glob("*.ipynb")] == ["Untitled.ipynb"]
    page.locator(".jp-CodeCell .cm-content").first.fill("1")
    page.keyboard.press("Control+s")
    # JupyterLab's own question at the first save of a notebook without a name.
    with page.expect_response(
        lambda answer: answer.request.method == "PUT" and "/api/contents/" in answer.url
    ):
        page.get_by_role("button", name="Rename and Save").click()

    expect(page.locator(".jp-Dialog")).to_have_count(0)
    assert not [url for url in asked if "/portal/api/s3" in url]
    page.close(run_before_unload=False)


def test_the_way_from_the_launcher_over_wrong_keys_to_a_table(page: Page, s3: S3Server) -> None:
    access_key, secret_key = s3.keys["ada"]
    page.locator(".jp-LauncherCard", has_text="S3").click()
    dialog = page.locator(".jp-Dialog")
    dialog.get_by_label("Access key").fill(access_key)
    dialog.get_by_label("Secret key").fill("wrong")
    dialog.get_by_role("button", name="Use").click()
    expect(dialog.get_by_role("alert")).to_contain_text("does not accept your keys")
    picture(page, "s3-wrong-keys")
    assert dialog.get_by_label("Secret key").input_value() == ""

    dialog.get_by_label("Secret key").fill(secret_key)
    dialog.get_by_role("button", name="Use").click()
    expect(item(page, "lab")).to_be_visible()
    expect(item(page, "empty")).to_be_visible()
    item(page, "lab").dblclick()
    item(page, "counts.csv").dblclick()
    expect(page.locator(".jp-CSVViewer .jp-spinner, .jp-Dialog")).to_have_count(0)
    expect(page.locator(".jp-CSVViewer .lm-DataGrid")).to_be_visible()
    picture(page, "s3-table")


def test_a_large_file_is_uploaded_and_downloaded(page: Page, s3: S3Server, tmp_path: Path) -> None:
    path = tmp_path / "big.bin"
    path.write_bytes(DATA)
    with page.expect_file_chooser() as chooser:
        drive(page).locator(".jp-id-upload, [data-jp-item-name=upload] jp-button").first.click()
    chooser.value.set_files(path)
    expect(item(page, "big.bin")).to_be_visible(timeout=TIMEOUT_MS)
    expect(page.get_by_role("alert").filter(has_text="Uploading")).to_have_count(0)
    digest = hashlib.sha256(DATA).digest()
    stored = s3.ask("ada", "get_object", Bucket="lab", Key="big.bin")
    assert hashlib.sha256(stored).digest() == digest

    item(page, "big.bin").click(button="right")
    with page.expect_download() as download:
        page.locator(".lm-Menu-item", has_text="Download").first.click()
    assert hashlib.sha256(Path(download.value.path()).read_bytes()).digest() == digest


def test_images_and_tables_show_what_is_in_them(page: Page, s3: S3Server, tmp_path: Path) -> None:
    python = server_python().parents[2] / "pytorch/bin/python"
    subprocess.run([str(python), "-c", FILES], check=True, cwd=tmp_path, timeout=300)
    for path in tmp_path.iterdir():
        s3.ask("ada", "put_object", path.read_bytes(), Bucket="lab", Key=path.name)
    refresh(page)

    for name in ("curve.svg", "digit.png"):
        item(page, name).dblclick()
        image = page.locator(".jp-ImageViewer:visible img")
        expect(image).to_have_js_property("naturalWidth", 40)
    item(page, "table.parquet").dblclick()
    shown = page.locator(".dsp-preview")
    expect(shown).to_contain_text("1,000 rows, 1 columns")
    picture(page, "s3-parquet")


def test_a_notebook_on_the_drive_runs_and_is_saved_there(page: Page, s3: S3Server) -> None:
    notebook = {
        "cells": [
            {
                "cell_type": "code",
                "id": "one",
                "execution_count": None,
                "metadata": {},
                "outputs": [],
                "source": "import os; os.environ['AWS_ENDPOINT_URL']",
            }
        ],
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    data = json.dumps(notebook).encode()
    s3.ask("ada", "put_object", data, Bucket="lab", Key="run.ipynb")
    refresh(page)
    item(page, "run.ipynb").dblclick()
    cell = page.locator(".jp-NotebookPanel .jp-CodeCell").first
    cell.click()
    page.keyboard.press("Shift+Enter")
    expect(cell.locator(".jp-OutputArea-output")).to_contain_text(s3.url, timeout=TIMEOUT_MS)
    page.keyboard.press("Control+s")
    expect(page.locator(".lm-TabBar-tab.jp-mod-dirty", has_text="run.ipynb")).to_have_count(0)
    picture(page, "s3-notebook")

    saved = json.loads(s3.ask("ada", "get_object", Bucket="lab", Key="run.ipynb"))
    assert s3.url in json.dumps(saved["cells"][0]["outputs"])


def test_a_bucket_that_is_gone_is_told_in_words(page: Page, s3: S3Server) -> None:
    drive(page).locator(".jp-BreadCrumbs-home, .jp-BreadCrumbs-item").first.click()
    expect(item(page, "empty")).to_be_visible()
    s3.ask("ada", "delete_bucket", Bucket="empty")

    item(page, "empty").dblclick()

    dialog = page.locator(".jp-Dialog")
    expect(dialog).to_be_visible()
    picture(page, "s3-gone")
    expect(dialog).to_contain_text("The bucket empty no longer exists")
    dialog.get_by_role("button").last.click()
    expect(item(page, "lab")).to_be_visible()
    expect(item(page, "empty")).to_have_count(0)
