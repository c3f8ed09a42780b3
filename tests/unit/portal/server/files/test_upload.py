"""A file that arrives in chunks, in a real folder."""

import errno
import os
from pathlib import Path

import pytest

from dsportal.slurm.errors import PortalError
from portal.server.base.chunks import UploadError
from portal.server.files.upload import Upload


@pytest.fixture
def upload(tmp_path: Path) -> Upload:
    return Upload(tmp_path / "digits.bin", size_bytes=6, modified_ms=1_700_000_000_000)


def test_a_file_gets_its_name_with_its_last_byte(upload: Upload) -> None:
    assert upload.write(0, b"abcd", replaces=False) == 4
    assert not upload.target.exists()
    assert upload.part.stat().st_mode & 0o777 == 0o600

    assert upload.write(4, b"ef", replaces=False) == 6

    assert upload.target.read_bytes() == b"abcdef"
    assert not upload.part.exists()


def test_a_finished_file_has_the_mode_of_any_other_new_file(upload: Upload) -> None:
    upload.write(0, b"abcdef", replaces=False)
    upload.target.with_name("other").touch()

    assert upload.target.stat().st_mode == upload.target.with_name("other").stat().st_mode


def test_the_same_file_continues_where_it_was_and_another_one_begins(upload: Upload) -> None:
    upload.write(0, b"abcd", replaces=False)

    same = Upload(upload.target, size_bytes=6, modified_ms=1_700_000_000_000)
    newer = Upload(upload.target, size_bytes=6, modified_ms=1_700_000_000_001)

    assert (same.state().offset, same.state().other_parts) == (4, ())
    assert newer.state().offset == 0
    assert [(part.name, part.size_bytes) for part in newer.state().other_parts] == [
        (upload.part.name, 4)
    ]


@pytest.mark.parametrize(("offset", "chunk"), [(3, b"d"), (5, b"f"), (4, b"efg")])
def test_bytes_that_do_not_follow_are_refused(upload: Upload, offset: int, chunk: bytes) -> None:
    upload.write(0, b"abcd", replaces=False)

    with pytest.raises(PortalError, match=r"4 bytes of digits[.]bin have arrived") as refused:
        upload.write(offset, chunk, replaces=False)

    assert refused.value.http_status == 409, "the browser asks how far it is, and continues"
    assert upload.part.read_bytes() == b"abcd"


def test_a_file_of_the_same_name_is_replaced_only_if_the_user_agreed(upload: Upload) -> None:
    upload.target.write_text("earlier")
    assert upload.state().is_taken

    with pytest.raises(PortalError, match=r"digits[.]bin is in this folder already"):
        upload.write(0, b"abcdef", replaces=False)
    assert upload.target.read_text() == "earlier"

    upload.write(0, b"abcdef", replaces=True)
    assert upload.target.read_bytes() == b"abcdef"


def test_a_link_in_place_of_the_part_is_not_followed(upload: Upload, tmp_path: Path) -> None:
    (tmp_path / "away").write_bytes(b"")
    upload.part.symlink_to(tmp_path / "away")

    with pytest.raises(UploadError, match="cannot be written to this folder"):
        upload.write(0, b"abcd", replaces=False)

    assert (tmp_path / "away").read_bytes() == b""


def test_what_has_arrived_can_be_removed(upload: Upload) -> None:
    upload.write(0, b"abc", replaces=False)

    upload.remove()
    upload.remove()

    assert upload.state().offset == 0
    assert list(upload.target.parent.iterdir()) == []


def test_a_part_that_somebody_else_has_laid_there_is_left_alone(
    upload: Upload, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload.part.write_bytes(b"")
    monkeypatch.setattr(os, "geteuid", lambda: upload.part.stat().st_uid + 1)

    with pytest.raises(UploadError, match=r"[.]part is not a file of yours"):
        upload.write(0, b"abcdef", replaces=False)

    assert upload.part.read_bytes() == b""


def test_a_part_that_has_another_name_too_is_left_alone(upload: Upload, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"")
    os.link(precious, upload.part)

    with pytest.raises(UploadError, match=r"[.]part is not a file of yours"):
        upload.write(0, b"abcdef", replaces=False)

    assert precious.read_bytes() == b""


def test_a_part_that_ends_elsewhere_leaves_nothing_new(upload: Upload) -> None:
    with pytest.raises(PortalError, match="0 bytes of"):
        upload.write(3, b"def", replaces=False)

    assert list(upload.target.parent.iterdir()) == []


def test_of_a_complete_part_without_its_name_the_last_byte_is_asked_for_again(
    upload: Upload,
) -> None:
    # The session ended, or its disk was away, between the last byte and the name.
    upload.part.write_bytes(b"abcdef")
    upload.part.chmod(0o600)

    assert upload.state().offset == 5
    assert upload.write(5, b"f", replaces=False) == 6

    assert upload.target.read_bytes() == b"abcdef"
    assert not upload.part.exists()


def test_bytes_that_a_disk_refuses_only_when_they_are_flushed_are_sent_again(
    upload: Upload, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload.write(0, b"abc", replaces=False)

    def refuse(_: int) -> None:
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(PortalError, match="or your quota there, is full"):
        upload.write(3, b"def", replaces=False)

    assert upload.state().offset == 3
    assert not upload.target.exists()
