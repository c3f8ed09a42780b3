"""A home or a node's disk that is full: what can be read, and what a failure says."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.mounts import SmallDisk, small_disk
from tests.support.notebook_server import NotebookServer

Setting = tuple[NotebookServer, SmallDisk]


@pytest.fixture
def full_server(tmp_path: Path, tensorboard_python: Path) -> Iterator[Setting]:
    (tmp_path / "home").mkdir()
    with small_disk(tmp_path / "home") as disk:
        server = NotebookServer(tmp_path, tensorboard_python)
        try:
            yield server, disk
        finally:
            server.stop()


@pytest.fixture
def full_node(tensorboard_python: Path) -> Iterator[Setting]:
    # Addresses of sockets are short, so those of a test's own folder would be elsewhere.
    with tempfile.TemporaryDirectory(prefix="node") as folder:
        (Path(folder) / "tmp").mkdir()
        with small_disk(Path(folder) / "tmp") as disk:
            server = NotebookServer(Path(folder), tensorboard_python)
            try:
                yield server, disk
            finally:
                server.stop()


def notebook(source: str, *, trusted: bool = True) -> dict[str, Any]:
    cell = {
        "cell_type": "code",
        "execution_count": 1,
        "metadata": {"trusted": trusted},
        "outputs": [],
        "source": source,
    }
    content = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    return {"type": "notebook", "content": content}


def send(server: NotebookServer, method: str, **options: Any) -> requests.Response:
    url = f"{server.host}/user/ada/api/contents/a.ipynb"
    return server.http.request(method, url, timeout=60, **options)


def source_of(answer: requests.Response) -> str:
    return str(answer.json()["content"]["cells"][0]["source"])


def test_a_notebook_stays_readable_and_a_failed_save_says_what_to_delete(
    full_server: Setting,
) -> None:
    server, disk = full_server
    assert send(server, "PUT", json=notebook("first")).ok
    disk.fill()

    refused = send(server, "PUT", json=notebook("second" * 100_000))
    read = send(server, "GET")

    assert refused.status_code == 507, refused.text
    assert "a.ipynb could not be saved: the disk of its folder is full" in refused.json()["message"]
    assert "there is no trash" in refused.json()["message"]
    assert read.status_code == 200, read.text
    assert source_of(read) == "first", "the file is as it was"
    assert read.json()["content"]["cells"][0]["metadata"]["trusted"], "and is still trusted"

    disk.free()
    assert send(server, "PUT", json=notebook("third")).ok
    assert source_of(send(server, "GET")) == "third"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("kernels", {}),
        ("sessions", {"path": "a.ipynb", "type": "notebook", "kernel": {"name": "python3"}}),
    ],
)
def test_a_kernel_that_has_no_room_on_the_node_names_the_disk(
    full_node: Setting, path: str, body: dict[str, Any]
) -> None:
    server, disk = full_node
    url = f"{server.host}/user/ada/api/{path}"
    disk.fill()

    refused = server.http.post(url, json=body, timeout=60)

    assert refused.status_code == 507, refused.text
    assert f"{server.tmp_dir} of {os.uname().nodename} is full" in refused.json()["message"]
    disk.free()
