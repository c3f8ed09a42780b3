"""The S3 drive of a real notebook server, at a server of S3 that checks keys."""

import hashlib
import json
import random
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.notebook_server import NotebookServer, server_python
from tests.support.s3_server import S3Server

N_FILES = 2500
# Of a kernel's environment: the file is written as a cell does.
PARQUET = """
import sys
import pandas
pandas.DataFrame({"digit": range(300)}).to_parquet(sys.argv[1])
"""
MIB = 1024 * 1024


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    server = S3Server("ada", "grace")
    server.ask("ada", "create_bucket", Bucket="lab")
    yield server
    server.stop()


def start(
    folder: Path, tensorboard_python: Path, user_id: int | None = None, **settings: Any
) -> NotebookServer:
    tables = {"files": {"previews": True}, "s3": settings}
    return NotebookServer(
        folder,
        tensorboard_python,
        argv=(str(server_python()), "-m", "jupyter_server"),
        environ={"JUPYTER_NO_CONFIG": "1", "PORTAL_SETTINGS": json.dumps(tables)},
        user_id=user_id,
    )


@pytest.fixture(scope="module")
def server(
    s3: S3Server, tmp_path_factory: pytest.TempPathFactory, tensorboard_python: Path
) -> Iterator[NotebookServer]:
    server = start(tmp_path_factory.mktemp("s3"), tensorboard_python, endpoint=s3.url)
    yield server
    server.stop()


@pytest.fixture
def ada(server: NotebookServer, s3: S3Server) -> Iterator[NotebookServer]:
    """The server with the keys of ada entered."""
    assert enter(server, *s3.keys["ada"]).status_code == 200
    yield server
    ask(server, "DELETE", "keys")


def ask(server: NotebookServer, method: str, path: str, **kwargs: Any) -> requests.Response:
    url = f"{server.host}/user/ada/portal/api/s3/{path}"
    return server.http.request(method, url, timeout=60, **kwargs)


def enter(server: NotebookServer, access_key: str, secret_key: str) -> requests.Response:
    keys = {"access_key_id": access_key, "secret_access_key": secret_key}
    return ask(server, "PUT", "keys", json=keys)


def test_a_file_is_saved_listed_opened_renamed_and_deleted(
    ada: NotebookServer, s3: S3Server
) -> None:
    model = {"type": "file", "format": "text", "content": "digit,n\n7,1028\n"}
    assert ask(ada, "PUT", "contents/lab/counts/a.csv", json=model).status_code == 201

    assert s3.ask("ada", "get_object", Bucket="lab", Key="counts/a.csv") == b"digit,n\n7,1028\n"
    (bucket,) = ask(ada, "GET", "contents").json()["content"]
    assert (bucket["name"], bucket["type"]) == ("lab", "directory")
    (found,) = ask(ada, "GET", "contents/lab/counts").json()["content"]
    assert (found["name"], found["size"]) == ("a.csv", 15)
    assert ask(ada, "GET", "contents/lab/counts/a.csv").json()["content"] == model["content"]

    before = ask(ada, "GET", "contents/lab/counts/a.csv?content=0&hash=1").json()["hash"]
    assert before, "JupyterLab asks for it, to notice what somebody else has saved"
    renamed = ask(ada, "PATCH", "contents/lab/counts/a.csv", json={"path": "lab/b.csv"})
    assert renamed.json()["path"] == "lab/b.csv"
    assert ask(ada, "DELETE", "contents/lab/b.csv").status_code == 204
    assert ask(ada, "GET", "contents/lab").json()["content"] == []


def test_a_new_folder_is_there_while_it_is_empty_and_only_then_deleted(
    ada: NotebookServer,
) -> None:
    made = ask(ada, "POST", "contents/lab", json={"type": "directory"}).json()
    renamed = ask(ada, "PATCH", f"contents/{made['path']}", json={"path": "lab/models"})
    assert renamed.json()["type"] == "directory"
    model = {"type": "file", "format": "text", "content": ""}
    ask(ada, "PUT", "contents/lab/models/a.txt", json=model).raise_for_status()

    refused = ask(ada, "DELETE", "contents/lab/models")
    assert (refused.status_code, "is not empty" in refused.json()["message"]) == (400, True)
    ask(ada, "DELETE", "contents/lab/models/a.txt").raise_for_status()
    ask(ada, "DELETE", "contents/lab/models").raise_for_status()
    assert ask(ada, "GET", "contents/lab").json()["content"] == []


def test_a_large_file_arrives_in_parts_and_comes_back(ada: NotebookServer, s3: S3Server) -> None:
    data = random.Random(3).randbytes(20 * MIB + 5)
    place = f"uploads?path=lab/big.bin&size={len(data)}&modified=1"
    assert ask(ada, "GET", place).json() == {"offset": 0, "is_taken": False, "other_parts": []}
    for at in range(0, len(data), 8 * MIB):
        sent = ask(ada, "PUT", f"{place}&offset={at}", data=data[at : at + 8 * MIB])
        assert sent.status_code == 200, sent.text
        # A chunk that is sent again, since its answer was lost, is not taken twice.
        again = ask(ada, "PUT", f"{place}&offset={at}", data=data[at : at + 8 * MIB])
        assert again.status_code == 409, again.text
        assert ask(ada, "GET", place).json()["offset"] == sent.json()["offset"]

    digest = hashlib.sha256(data).digest()
    stored = s3.ask("ada", "get_object", Bucket="lab", Key="big.bin")
    assert hashlib.sha256(stored).digest() == digest
    came = ask(ada, "GET", "files/lab/big.bin")
    assert hashlib.sha256(came.content).digest() == digest
    assert came.headers["Content-Disposition"].startswith("attachment")
    assert came.headers["Content-Type"] == "application/octet-stream"
    ask(ada, "DELETE", "contents/lab/big.bin").raise_for_status()


def test_an_upload_that_is_cancelled_leaves_nothing(ada: NotebookServer) -> None:
    place = f"uploads?path=lab/half.bin&size={20 * MIB}&modified=1"
    ask(ada, "PUT", f"{place}&offset=0", data=bytes(8 * MIB)).raise_for_status()

    ask(ada, "DELETE", place).raise_for_status()

    assert ask(ada, "GET", place).json()["offset"] == 0
    assert ask(ada, "GET", "contents/lab").json()["content"] == []


def test_wrong_keys_are_told_and_not_kept(server: NotebookServer, s3: S3Server) -> None:
    access_key, _ = s3.keys["ada"]
    for keys in ((access_key, "wrong"), ("AKIAWRONG", "wrong")):
        refused = enter(server, *keys)
        assert refused.status_code == 403
        assert "does not accept your keys" in refused.json()["message"]
    assert ask(server, "GET", "keys").json()["source"] == "none"
    assert "Enter them" in ask(server, "GET", "contents").json()["message"]


def test_a_bucket_that_is_gone_and_a_file_that_is_gone_are_told(ada: NotebookServer) -> None:
    gone = ask(ada, "GET", "contents/gone")
    assert gone.status_code == 404
    assert "The bucket gone no longer exists" in gone.json()["message"]
    hidden = ask(ada, "GET", "contents/lab/.hidden")
    assert (hidden.status_code, "does not exist" in hidden.json()["message"]) == (404, True)
    model = {"type": "file", "format": "text", "content": "x"}
    refused = ask(ada, "PUT", "contents/gone/a.txt", json=model)
    assert "The bucket gone no longer exists" in refused.json()["message"]
    assert ask(ada, "GET", "files/lab/gone.bin").status_code == 404


def test_a_folder_of_thousands_of_files_is_listed_whole(ada: NotebookServer, s3: S3Server) -> None:
    s3.ask("ada", "create_bucket", Bucket="many")
    s3.fill("ada", "many", "shards/part-{n:05}.tfrecord", N_FILES)

    listed = ask(ada, "GET", "contents/many/shards").json()

    assert len(listed["content"]) == N_FILES
    assert not listed["is_cut"]
    assert listed["content"][-1]["size"] == 1


def test_a_table_in_s3_is_previewed_and_not_the_one_of_that_path_in_the_home(
    ada: NotebookServer, s3: S3Server, tmp_path: Path
) -> None:
    python = server_python().parents[2] / "pytorch/bin/python"
    path = tmp_path / "table.parquet"
    subprocess.run([python, "-c", PARQUET, path], check=True, timeout=300)
    s3.ask("ada", "put_object", path.read_bytes(), Bucket="lab", Key="a b/table.parquet")
    (ada.root / "lab/a b").mkdir(parents=True)
    (ada.root / "lab/a b/table.parquet").write_text("another")

    shown = ask(ada, "GET", "preview?path=lab/a%20b/table.parquet")

    assert shown.status_code == 200, shown.text
    assert shown.json()["facts"] == ["300 rows, 1 columns; row groups: 1."]
    ask(ada, "DELETE", "contents/lab/a%20b/table.parquet").raise_for_status()
    assert not list(Path(tempfile.gettempdir()).glob("s3-preview-*"))


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("lab/gone.parquet", 404, "no longer exists"),
        ("lab", 404, "no longer exists"),
        ("lab/../x.parquet", 404, "no folders '.' and '..'"),
        ("lab/notes.txt", 422, "has no preview"),
        ("lab/torn.parquet", 422, "is damaged"),
    ],
)
def test_what_has_no_preview_in_s3_is_told(
    ada: NotebookServer, s3: S3Server, path: str, status: int, words: str
) -> None:
    for key in ("notes.txt", "torn.parquet"):
        s3.ask("ada", "put_object", b"PAR1 no", Bucket="lab", Key=key)

    refused = ask(ada, "GET", "preview", params={"path": path})

    assert refused.status_code == status
    assert words in refused.json()["message"]
    for key in ("notes.txt", "torn.parquet"):
        ask(ada, "DELETE", f"contents/lab/{key}").raise_for_status()


@pytest.mark.parametrize(
    ("name", "kind"), [("curve.svg", "image/svg+xml"), ("notes.unknown", "text/plain")]
)
def test_what_a_file_is_follows_from_its_name(
    ada: NotebookServer, s3: S3Server, name: str, kind: str
) -> None:
    s3.ask("ada", "put_object", b"<svg/>", Bucket="lab", Key=name)

    opened = ask(ada, "GET", f"contents/lab/{name}").json()

    assert opened["mimetype"] == kind
    ask(ada, "DELETE", f"contents/lab/{name}").raise_for_status()


@pytest.mark.parametrize(
    "path", ["contents/lab/../x", "contents/arn:aws:s3:eu-1:1:accesspoint/x", "files/lab/%2e%2e/x"]
)
def test_no_path_leads_elsewhere(ada: NotebookServer, path: str) -> None:
    url = f"{ada.host}/user/ada/portal/api/s3/{path}"
    prepared = ada.http.prepare_request(requests.Request("GET", url))
    prepared.url = url
    assert ada.http.send(prepared, timeout=30).status_code == 404


def test_an_endpoint_that_does_not_answer_is_told(tmp_path: Path, tensorboard_python: Path) -> None:
    server = start(tmp_path, tensorboard_python, endpoint="http://127.0.0.1:9")
    try:
        refused = enter(server, "any", "any")
        assert refused.status_code == 502
        assert "does not answer" in refused.json()["message"]
        assert "127.0.0.1:9" in refused.json()["message"]
    finally:
        server.stop()


def test_a_site_without_a_store_has_no_drive(tmp_path: Path, tensorboard_python: Path) -> None:
    server = start(tmp_path, tensorboard_python)
    try:
        assert ask(server, "GET", "contents").status_code == 404
        assert enter(server, "any", "any").status_code == 404
    finally:
        server.stop()


def test_only_the_buckets_of_the_settings_are_shown(
    s3: S3Server, tmp_path: Path, tensorboard_python: Path
) -> None:
    s3.ask("ada", "create_bucket", Bucket="private")
    server = start(tmp_path, tensorboard_python, endpoint=s3.url, buckets=["lab"])
    try:
        enter(server, *s3.keys["ada"]).raise_for_status()
        assert [one["name"] for one in ask(server, "GET", "contents").json()["content"]] == ["lab"]
        assert ask(server, "GET", "contents/private").status_code == 404
    finally:
        server.stop()
        s3.ask("ada", "delete_bucket", Bucket="private")
