"""Files whose names are not UTF-8, saves on a full disk, and who waits for a file."""

import asyncio
import errno
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from tornado.web import HTTPError

from portal.server.patches import contents_manager
from portal.server.patches.contents_manager import change_contents, describe_full


async def test_they_are_listed_with_a_mark_and_opening_one_says_what_to_do(tmp_path: Path) -> None:
    for name in (b"caf\xe9.ipynb", "café.txt".encode()):
        tmp_path.joinpath(os.fsdecode(name)).write_text("{}")
    contents = AsyncLargeFileManager(root_dir=str(tmp_path))
    change_contents(contents)

    listed = (await contents.get(""))["content"]

    assert {entry["path"] for entry in listed} == {"caf\ufffd.ipynb", "café.txt"}
    # As a browser's address can hold it.
    assert all(entry["name"].encode() for entry in listed)
    assert (await contents.get("café.txt"))["content"] == "{}"
    with pytest.raises(HTTPError, match="Rename it in a terminal"):
        await contents.get("caf\ufffd.ipynb")
    with pytest.raises(HTTPError, match="gone"):
        await contents.get("gone.txt")


@pytest.mark.parametrize(
    ("cause", "status"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), 507),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), 507),
        (IsADirectoryError(errno.EISDIR, "Is a directory"), 400),
        (PermissionError(errno.EACCES, "Permission denied"), 500),
        (sqlite3.OperationalError("database is locked"), 500),
    ],
)
async def test_a_full_disk_and_a_folder_are_told_and_nothing_else_is(
    cause: Exception, status: int
) -> None:
    async def save(model: dict[str, Any], path: str) -> None:
        raise HTTPError(500, "Unexpected error while saving file") from cause

    with pytest.raises(HTTPError) as caught:
        await contents_manager._explaining(save)({}, "deep/a.ipynb")

    assert caught.value.status_code == status


def test_the_sentence_names_the_file_and_what_to_do() -> None:
    assert describe_full("deep/a.ipynb").startswith(
        "a.ipynb could not be saved: the disk of its folder is full."
    )


async def test_a_file_is_read_in_a_task_that_ends_with_it(tmp_path: Path) -> None:
    tasks: list[asyncio.Task[Any] | None] = []

    class Contents(AsyncLargeFileManager):
        async def get(self, path: str, **options: Any) -> Any:
            tasks.append(asyncio.current_task())
            return await super().get(path, **options)

    contents = Contents(root_dir=str(tmp_path))
    change_contents(contents)
    await contents.get("")
    with pytest.raises(HTTPError):
        await contents.get("gone.ipynb")

    assert asyncio.current_task() not in tasks
    assert [task is not None and task.done() for task in tasks] == [True, True]


async def test_of_a_link_to_a_folder_only_the_link_is_deleted(tmp_path: Path) -> None:
    (tmp_path / "folder/deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    contents = AsyncLargeFileManager(root_dir=str(tmp_path), delete_to_trash=False)
    change_contents(contents)

    await contents.delete_file("link")
    assert os.listdir(tmp_path / "folder") == ["deep"]
    await contents.delete_file("folder")

    assert os.listdir(tmp_path) == []
