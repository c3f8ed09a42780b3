"""A folder as a tar archive, read again by tarfile."""

import io
import os
import socket
import tarfile
from pathlib import Path

import pytest

from dsportal.slurm.errors import PortalError
from portal.server.files.archive import LEFT_OUT, stream_archive


def read(folder: Path, *, with_hidden: bool = False) -> tuple[dict[str, bytes | None], str]:
    """Return the archive's files, with None for folders, and its list of what is left out."""
    data = b"".join(stream_archive(folder, with_hidden=with_hidden))
    found: dict[str, bytes | None] = {}
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        for member in archive:
            file = archive.extractfile(member)
            found[member.name] = None if file is None else file.read()
    text = found.pop(f"{folder.name}/{LEFT_OUT}", b"") or b""
    return found, text.decode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "run 1"
    (folder / "sub/empty").mkdir(parents=True)
    (folder / "a.txt").write_text("a")
    (folder / "none").touch()
    (folder / "sub/b.bin").write_bytes(bytes(3_000_000) + b"end")
    (folder / "sub" / ("ü" * 60 + ".txt")).write_text("long")
    return folder


def test_an_archive_holds_all_folders_and_files(folder: Path) -> None:
    found, left_out = read(folder)

    assert found == {
        "run 1": None,
        "run 1/a.txt": b"a",
        "run 1/none": b"",
        "run 1/sub": None,
        "run 1/sub/b.bin": bytes(3_000_000) + b"end",
        "run 1/sub/" + "ü" * 60 + ".txt": b"long",
        "run 1/sub/empty": None,
    }
    assert left_out == ""


def test_links_are_not_followed_but_named(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (folder / "away").symlink_to(tmp_path / "secret")
    (folder / "sub/up").symlink_to("..")

    found, left_out = read(folder)

    assert not {"run 1/away", "run 1/sub/up"} & set(found)
    assert left_out == f"away: a link to {tmp_path / 'secret'}\nsub/up: a link to ..\n"


def test_sockets_and_pipes_are_named(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket"))
        _, left_out = read(folder)

    assert left_out.count("no file but a socket, a named pipe or a device") == 2


def test_hidden_files_are_left_out_unless_the_site_shows_them(folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / ".git/config").write_text("x")
    (folder / ".env").write_text("x")

    assert len(read(folder)[0]) == 7
    shown = read(folder, with_hidden=True)[0]
    assert {"run 1/.git", "run 1/.git/config", "run 1/.env"} <= set(shown)


def test_a_file_that_becomes_shorter_meanwhile_leaves_the_rest_intact(folder: Path) -> None:
    pieces = stream_archive(folder, with_hidden=False)
    data = b""
    for piece in pieces:
        data += piece
        if b"b.bin" in piece:
            os.truncate(folder / "sub/b.bin", 10)
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        names = archive.getnames()
        listed = archive.extractfile(f"run 1/{LEFT_OUT}")
        assert listed is not None
        text = listed.read().decode()

    assert "run 1/sub/empty" in names
    assert text == "sub/b.bin: became shorter meanwhile: its last 2999993 bytes are zeros\n"


def test_a_folder_that_is_not_there_is_an_error_before_the_first_byte(tmp_path: Path) -> None:
    with pytest.raises(PortalError, match="cannot be read: No such file"):
        next(stream_archive(tmp_path / "none", with_hidden=False))
