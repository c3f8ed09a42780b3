"""A large upload that loses its connection and its page, and a folder's download, in Chromium."""

import hashlib
import random
import re
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import BrowserContext, Locator, Page, Request, Route, expect  # noqa: E402

from tests.support.chromium import TIMEOUT_MS, picture  # noqa: E402
from tests.support.eventually import eventually  # noqa: E402
from tests.support.notebook_server import NotebookServer, server_python, start_jupyterlab  # noqa: E402

FILES = '{"resumable_uploads": true, "archives": true, "previews": true}'
SETTINGS = {"PORTAL_SETTINGS": f'{{"files": {FILES}}}'}
UPLOADS = re.compile("/portal/api/uploads")
DATA = random.Random(2).randbytes(50 * 1024 * 1024)
N_BEFORE_LOSS = 5
FILES = """
import pandas, torch
rows = {"number": range(1000), "name": [f"digit {n}" for n in range(1000)]}
pandas.DataFrame(rows).to_parquet("table.parquet")
torch.save(torch.nn.Linear(4, 3).state_dict(), "net.pt")
"""


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, tensorboard_python: Path
) -> Iterator[NotebookServer]:
    folder = tmp_path_factory.mktemp("transfers")
    server = start_jupyterlab(folder, tensorboard_python, SETTINGS)
    yield server
    server.stop()


@pytest.fixture
def page(context: BrowserContext, server: NotebookServer) -> Iterator[Page]:
    page = context.new_page()
    open_folder(page, server)
    yield page
    page.close()


def open_folder(page: Page, server: NotebookServer) -> None:
    page.goto(f"{server.host}/user/ada/lab/tree/runs?reset")
    expect(item(page, "first")).to_be_visible(timeout=TIMEOUT_MS)


def item(page: Page, name: str) -> Locator:
    return page.locator(".jp-DirListing-item").filter(has_text=name).first


def choose(page: Page, path: Path) -> None:
    with page.expect_file_chooser() as chooser:
        page.locator(".jp-FileBrowser .jp-id-upload").first.click()
    chooser.value.set_files(path)


def test_an_upload_continues_after_a_lost_connection_and_after_a_reload(
    page: Page, server: NotebookServer, tmp_path: Path
) -> None:
    path = tmp_path / "big.bin"
    path.write_bytes(DATA)
    sent: list[int] = []

    def lose(route: Route, request: Request) -> None:
        if request.method == "PUT":
            sent.append(len(sent))
        if len(sent) > N_BEFORE_LOSS:
            route.abort()
        else:
            route.continue_()

    page.route(UPLOADS, lose)
    choose(page, path)
    lost = page.get_by_text("continues as soon as the session answers again")
    expect(lost).to_be_visible(timeout=TIMEOUT_MS)
    picture(page, "upload-lost")
    (part,) = (server.root / "runs").glob("big.bin.*.part")
    assert part.stat().st_size == N_BEFORE_LOSS * 4 * 1024 * 1024

    # The page is left although an upload runs.
    page.on("dialog", lambda dialog: dialog.accept())
    open_folder(page, server)
    page.unroute(UPLOADS)
    chunks: list[str] = []
    page.on("request", lambda request: chunks.append(request.url) if is_chunk(request) else None)
    choose(page, path)

    expect(page.get_by_text("big.bin", exact=True)).to_be_visible(timeout=TIMEOUT_MS)
    arrived = (server.root / "runs/big.bin").read_bytes()
    assert hashlib.sha256(arrived).hexdigest() == hashlib.sha256(DATA).hexdigest()
    assert not part.exists()
    assert f"offset={N_BEFORE_LOSS * 4 * 1024 * 1024}&" in chunks[0], "it continued"


def is_chunk(request: Request) -> bool:
    return request.method == "PUT" and bool(UPLOADS.search(request.url))


def test_a_second_upload_of_the_same_name_asks(
    page: Page, server: NotebookServer, tmp_path: Path
) -> None:
    (server.root / "runs/again.bin").write_text("mine")
    path = tmp_path / "again.bin"
    path.write_bytes(DATA[: 5 * 1024 * 1024])

    choose(page, path)
    page.get_by_role("button", name="Overwrite").click()

    eventually(lambda: (server.root / "runs/again.bin").stat().st_size == 5 << 20, timeout_s=60)


def test_a_folder_is_downloaded_from_its_context_menu(page: Page, server: NotebookServer) -> None:
    (server.root / "runs/first/a.txt").write_text("a")

    item(page, "first").click(button="right")
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Download Folder as Archive (.tar)").click()

    assert download.value.suggested_filename == "first.tar"
    with tarfile.open(download.value.path()) as archive:
        assert archive.getnames() == ["first", "first/a.txt"]


def test_a_table_shows_what_is_in_it_and_a_model_what_opens_it(
    page: Page, server: NotebookServer
) -> None:
    python = server_python().parents[2] / "pytorch/bin/python"
    subprocess.run([str(python), "-c", FILES], check=True, cwd=server.root / "runs", timeout=300)
    page.get_by_role("button", name="Refresh the file browser").click()

    item(page, "table.parquet").dblclick()
    shown = page.locator(".dsp-preview")
    expect(shown).to_contain_text("1,000 rows, 2 columns", timeout=TIMEOUT_MS)
    expect(shown.get_by_role("cell", name="digit 99")).to_be_visible()
    picture(page, "preview-parquet")

    item(page, "net.pt").dblclick()
    expect(shown.filter(has_text="open it in Netron")).to_be_visible(timeout=TIMEOUT_MS)
