"""Uploads that are resumed and folders that are downloaded, at a real notebook server."""

import hashlib
import json
import os
import random
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests

from portal.server.base.preview import PreviewError, preview
from portal.server.downloads.plugin import _PLUGINS as PLUGINS
from tests.support.eventually import eventually
from tests.support.mounts import small_disk
from tests.support.notebook_server import TOKEN, NotebookServer
from tests.support.private_hub import ENVIRONMENTS

MIB = 1024 * 1024
SETTINGS = {
    "JUPYTER_NO_CONFIG": "1",
    "PORTAL_SETTINGS": '{"files": {"resumable_uploads": true, "archives": true}}',
}
# Not zeros, which a hole in a file would be, too.
DATA = random.Random(1).randbytes(50 * MIB)
# One value of 30 MiB a hundred times, and very many columns.
TABLES = """
import sys
import pyarrow
from pyarrow import parquet
values = pyarrow.array(["x" * 30 * 2**20] * 100).dictionary_encode()
parquet.write_table(pyarrow.table({"x": values}), sys.argv[1], compression="zstd")
wide = pyarrow.table({str(n): [n] for n in range(60_000)})
parquet.write_table(wide, sys.argv[2])
"""
CUT = ["The rows show the first 50 columns.", "The columns are the first 1,000."]


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, tensorboard_python: Path
) -> Iterator[NotebookServer]:
    folder = tmp_path_factory.mktemp("transfers")
    server = NotebookServer(folder, tensorboard_python, environ=SETTINGS)
    yield server
    server.stop()


def ask(
    server: NotebookServer, method: str, name: str, size: int, data: bytes = b"", **more: Any
) -> requests.Response:
    arguments = {"path": name, "size": size, "modified": 1, **more}
    url = f"{server.host}/user/ada/portal/api/uploads"
    return server.http.request(method, url, params=arguments, data=data, timeout=60)


def offset(server: NotebookServer, name: str, size: int) -> int:
    answer = ask(server, "GET", name, size)
    answer.raise_for_status()
    return int(answer.json()["offset"])


def break_off(server: NotebookServer, name: str, at: int, chunk: bytes) -> None:
    """Send half a chunk, and lose the connection."""
    host, port = server.host.removeprefix("http://").split(":")
    path = f"/user/ada/portal/api/uploads?path={name}&size={len(DATA)}&modified=1&offset={at}"
    lines = [f"PUT {path} HTTP/1.1", f"Host: {host}:{port}", f"Authorization: token {TOKEN}"]
    head = "\r\n".join([*lines, f"Content-Length: {len(chunk)}", "", ""])
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(head.encode() + chunk[: len(chunk) // 2])


def test_an_upload_survives_a_lost_connection_in_its_middle(server: NotebookServer) -> None:
    name, half, chunk = "runs/big.bin", 24 * MIB, 4 * MIB
    for at in range(0, half, chunk):
        ask(server, "PUT", name, len(DATA), DATA[at : at + chunk], offset=at).raise_for_status()
    break_off(server, name, half, DATA[half : half + chunk])
    assert offset(server, name, len(DATA)) == half

    for at in range(half, len(DATA), chunk):
        ask(server, "PUT", name, len(DATA), DATA[at : at + chunk], offset=at).raise_for_status()

    sent, arrived = (hashlib.sha256(data).hexdigest() for data in (DATA, read(server, name)))
    assert arrived == sent
    assert not list((server.root / "runs").glob("*.part"))
    (server.root / name).unlink()


def read(server: NotebookServer, name: str) -> bytes:
    return (server.root / name).read_bytes()


def test_who_asks_while_bytes_are_written_hears_of_all_of_them(server: NotebookServer) -> None:
    name, size = "runs/slow.bin", 64 * MIB + 1
    data = bytes(64 * MIB)
    with ThreadPoolExecutor(1) as pool:
        put = pool.submit(ask, server, "PUT", name, size, data, offset=0)
        # On a connection of its own, as after a lost one.
        with requests.Session() as http:
            http.headers.update(server.http.headers)
            place = {"path": name, "size": size, "modified": 1}
            url = f"{server.host}/user/ada/portal/api/uploads"
            seen = set()
            while not put.done():
                seen.add(int(http.get(url, params=place, timeout=60).json()["offset"]))
    assert put.result().ok
    assert ask(server, "DELETE", name, size).ok

    assert seen <= {0, len(data)}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        *((path, 404) for path in ("../outside.txt", "runs/../../x", "no folder/a")),
        ("no folder/.ssh/a", 404),
        # The folder of the file browser itself.
        ("", 409),
    ],
)
def test_a_place_outside_the_file_browser_is_not_there(
    server: NotebookServer, path: str, status: int
) -> None:
    before = sorted(server.root.parent.rglob("*outside*"))

    for method, more in (("GET", {}), ("PUT", {"offset": 0}), ("DELETE", {})):
        answer = ask(server, method, path, 3, b"abc" if more else b"", **more)
        assert answer.status_code == status, answer.text
    assert sorted(server.root.parent.rglob("*outside*")) == before


@pytest.mark.parametrize("folder", [".ssh", "runs/.ssh"])
def test_hidden_folders_take_no_upload_and_are_in_no_archive(
    server: NotebookServer, folder: str
) -> None:
    hidden = server.root / folder
    hidden.mkdir()
    (hidden / "authorized_keys").write_text("mine")

    for name in ("authorized_keys", "more"):
        path = f"{folder}/{name}"
        for method, more in (("GET", {}), ("PUT", {"offset": 0, "replaces": 1}), ("DELETE", {})):
            answer = ask(server, method, path, 3, b"abc" if more else b"", **more)
            assert (answer.status_code, "is hidden" in answer.json()["message"]) == (404, True)
    assert archive(server, folder).status_code == 404
    assert [path.name for path in hidden.iterdir()] == ["authorized_keys"]
    assert (hidden / "authorized_keys").read_text() == "mine"


def test_a_small_table_of_endless_rows_has_no_preview_and_takes_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = ENVIRONMENTS / "server"
    if not (prefix / "share/jupyter/kernels/pytorch").is_dir():
        pytest.skip(f"{prefix} has no kernel with pyarrow; deploy/up builds it")
    monkeypatch.setattr(sys, "prefix", str(prefix))
    python = ENVIRONMENTS / "pytorch/bin/python"
    table, small = tmp_path / "endless.parquet", tmp_path / "small.parquet"
    subprocess.run([python, "-c", TABLES, table, small], check=True, timeout=300)
    assert table.stat().st_size < 64 * 1024

    with pytest.raises(PreviewError, match="100 rows do not fit into 1 GiB of memory"):
        preview(table)
    assert preview(small).facts == ["1 rows, 60,000 columns; row groups: 1.", *CUT]


def test_numbers_that_are_none_are_refused(server: NotebookServer) -> None:
    assert ask(server, "PUT", "runs/a", 3, b"abc", offset="-1").status_code == 400
    assert ask(server, "PUT", "runs/a", 3, b"abc", offset="1e3").status_code == 400
    assert ask(server, "PUT", "runs/a", 3, b"abc").status_code == 400


def test_a_full_disk_is_told_in_words_and_the_upload_continues_when_there_is_room(
    tmp_path: Path, tensorboard_python: Path
) -> None:
    (tmp_path / "home").mkdir()
    with small_disk(tmp_path / "home") as disk:
        server = NotebookServer(tmp_path, tensorboard_python, environ=SETTINGS)
        try:
            data = DATA[: 2 * MIB]
            assert ask(server, "PUT", "runs/a.bin", len(data), data[:MIB], offset=0).ok
            disk.fill()

            refused = ask(server, "PUT", "runs/a.bin", len(data), data[MIB:], offset=MIB)

            assert refused.status_code == 507
            assert "a.bin does not fit: the disk of its folder" in refused.json()["message"]
            assert offset(server, "runs/a.bin", len(data)) == MIB
            disk.free()
            assert ask(server, "PUT", "runs/a.bin", len(data), data[MIB:], offset=MIB).ok
            assert read(server, "runs/a.bin") == data
        finally:
            server.stop()


def archive(server: NotebookServer, path: str, **options: Any) -> requests.Response:
    url = f"{server.host}/user/ada/portal/api/archive"
    return server.http.get(url, params={"path": path}, timeout=60, **options)


def test_a_download_needs_little_memory_and_may_be_given_up(server: NotebookServer) -> None:
    folder = server.root / "large"
    folder.mkdir()
    with (folder / "a.bin").open("wb") as file:
        # A hole: nothing is stored.
        file.truncate(1024 * MIB)
    before = rss_mib(server)

    with archive(server, "large", stream=True) as answer:
        taken = sum(len(answer.raw.read(MIB)) for _ in range(200))
        during = rss_mib(server)

    assert taken == 200 * MIB
    assert during - before < 50
    eventually(lambda: "was given up" in server.log_path.read_text(), timeout_s=30)


def rss_mib(server: NotebookServer) -> int:
    pages = int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // MIB


@pytest.mark.parametrize("path", ["..", ".local", "none", "runs/first/../../.."])
def test_a_folder_outside_the_file_browser_is_not_downloaded(
    server: NotebookServer, path: str
) -> None:
    answer = archive(server, path)

    assert answer.status_code == 404
    assert answer.json()["message"]


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_what_is_not_offered_is_refused_in_json(server: NotebookServer, method: str) -> None:
    url = f"{server.host}/user/ada/portal/api/nowhere/at/all"

    answer = server.http.request(method, url, timeout=60)

    assert answer.status_code == 404
    assert "/portal/api/nowhere/at/all" in answer.json()["message"]


def test_both_can_be_turned_off(notebook_server: NotebookServer) -> None:
    assert ask(notebook_server, "GET", "a", 1).status_code == 404
    assert archive(notebook_server, "runs").status_code == 404


def test_a_site_without_downloads_has_none_of_their_routes_and_buttons(
    tmp_path: Path, tensorboard_python: Path
) -> None:
    settings = {"files": {"archives": True, "downloads": False}}
    server = NotebookServer(
        tmp_path,
        tensorboard_python,
        environ={"JUPYTER_NO_CONFIG": "1", "PORTAL_SETTINGS": json.dumps(settings)},
        extensions=("portal.server", "jupyterlab"),
    )
    try:
        (server.root / "a.txt").write_text("data")
        (server.root / "a.ipynb").write_text(
            json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
        )
        session = f"{server.host}/user/ada"
        for path in (
            "files/a.txt",
            "files/a.txt?download=1",
            "nbconvert/html/a.ipynb?download=true",
            "nbconvert/html",
            "portal/api/archive?path=more",
        ):
            answer = server.http.get(f"{session}/{path}", timeout=60)
            assert answer.status_code == 403, path
            assert "This site offers no downloads" in answer.text, path
        opened = server.http.get(f"{session}/api/contents/a.txt", timeout=60)
        assert opened.json()["content"] == "data", "files can be opened"
        page = server.http.get(f"{session}/lab", timeout=60).text
        for plugin in PLUGINS:
            assert plugin in page
    finally:
        server.stop()
