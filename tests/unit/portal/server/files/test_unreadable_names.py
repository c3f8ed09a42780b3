"""Files whose names are not UTF-8."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from tornado.web import HTTPError

from portal.server.files.unreadable_names import mark_unreadable_names


async def test_they_are_listed_with_a_mark_and_opening_one_says_what_to_do(tmp_path: Path) -> None:
    for name in (b"caf\xe9.ipynb", "café.txt".encode()):
        tmp_path.joinpath(os.fsdecode(name)).write_text("{}")
    contents = AsyncLargeFileManager(root_dir=str(tmp_path))
    mark_unreadable_names(contents)

    listed = (await contents.get(""))["content"]

    assert {entry["path"] for entry in listed} == {"caf\ufffd.ipynb", "café.txt"}
    # As a browser's address can hold it.
    assert all(entry["name"].encode() for entry in listed)
    assert (await contents.get("café.txt"))["content"] == "{}"
    with pytest.raises(HTTPError, match="Rename it in a terminal"):
        await contents.get("caf\ufffd.ipynb")
    with pytest.raises(HTTPError, match="gone"):
        await contents.get("gone.txt")
