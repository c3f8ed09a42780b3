"""Folders and checkpoints, asked for as JupyterLab's file browser and editor do it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.notebook_server import NotebookServer


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, tensorboard_python: Path
) -> Iterator[NotebookServer]:
    storage = tmp_path_factory.mktemp("isilon")
    server = NotebookServer(
        tmp_path_factory.mktemp("contents"),
        tensorboard_python,
        # As JupyterHub sets it.
        "--FileContentsManager.delete_to_trash=False",
        environ={
            "JUPYTER_NO_CONFIG": "1",
            "PORTAL_STORAGE": json.dumps({"isilon": str(storage)}),
        },
    )
    yield server
    server.stop()


def send(server: NotebookServer, method: str, path: str, **body: Any) -> requests.Response:
    url = f"{server.host}/user/ada/api/contents/{path}"
    answer = server.http.request(method, url, json=body or None, timeout=30)
    answer.raise_for_status()
    return answer


def save(server: NotebookServer, path: str, text: str) -> None:
    send(server, "PUT", path, type="file", format="text", content=text)


def move(server: NotebookServer, path: str, to: str) -> None:
    url = f"{server.host}/user/ada/api/contents/{path}"
    server.http.patch(url, json={"path": to}, timeout=30).raise_for_status()


def keep(server: NotebookServer, path: str) -> None:
    """Make a checkpoint, as JupyterLab does for each file that it opens or saves."""
    send(server, "POST", f"{path}/checkpoints")


def checkpoints(server: NotebookServer, path: str) -> list[str]:
    return [each["id"] for each in send(server, "GET", f"{path}/checkpoints").json()]


def revert(server: NotebookServer, path: str) -> str:
    (checkpoint,) = checkpoints(server, path)
    send(server, "POST", f"{path}/checkpoints/{checkpoint}")
    return (server.root / path).read_text()


def test_a_folder_that_is_dropped_holds_nothing_but_its_files(server: NotebookServer) -> None:
    send(server, "PUT", "pictures", type="directory")
    for name in ("cats", "dogs"):
        made = send(server, "POST", "pictures", type="directory").json()
        move(server, made["path"], f"pictures/{name}")
        save(server, f"pictures/{name}/1.txt", "a picture")
        keep(server, f"pictures/{name}/1.txt")

    found = {str(path.relative_to(server.root)) for path in server.root.glob("pictures/**/*")}

    assert found == {"pictures/cats", "pictures/cats/1.txt", "pictures/dogs", "pictures/dogs/1.txt"}


def test_each_file_is_reverted_to_its_own_checkpoint(server: NotebookServer) -> None:
    for folder in ("more", "runs"):
        save(server, f"{folder}/same.txt", f"first of {folder}")
        keep(server, f"{folder}/same.txt")
        save(server, f"{folder}/same.txt", "second")

    assert revert(server, "more/same.txt") == "first of more"
    assert revert(server, "runs/same.txt") == "first of runs"


def test_a_checkpoint_goes_where_its_folder_goes(server: NotebookServer) -> None:
    send(server, "PUT", "before", type="directory")
    save(server, "before/a.txt", "first")
    keep(server, "before/a.txt")
    save(server, "before/a.txt", "second")

    move(server, "before", "after")
    send(server, "PUT", "before", type="directory")
    save(server, "before/a.txt", "another file")

    assert checkpoints(server, "before/a.txt") == []
    assert revert(server, "after/a.txt") == "first"


def test_a_folder_is_deleted_with_all_that_is_in_it(server: NotebookServer) -> None:
    save(server, "runs/first/a.txt", "first")
    keep(server, "runs/first/a.txt")

    send(server, "DELETE", "runs/first")
    send(server, "PUT", "runs/first", type="directory")
    save(server, "runs/first/a.txt", "another file")

    assert checkpoints(server, "runs/first/a.txt") == []


def test_a_link_is_deleted_and_what_it_leads_to_stays(server: NotebookServer) -> None:
    link = server.root / "isilon"
    (link.resolve() / "of-all.txt").write_text("of all\n")
    storage = link.resolve()

    send(server, "DELETE", "isilon")

    assert not link.is_symlink()
    assert (storage / "of-all.txt").read_text() == "of all\n"
