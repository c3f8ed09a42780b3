"""Which credentials files are read."""

from pathlib import Path

import pytest

from portal.server.s3.errors import S3KeysError
from portal.server.s3.keys import Keys, read_keys

TEXT = """
[default]
aws_access_key_id = AKIA1
aws_secret_access_key = a%b=c
[lab]
aws_access_key_id = AKIA2
aws_secret_access_key = d
aws_session_token = e
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / ".aws/credentials"
    file.parent.mkdir()
    file.write_text(TEXT)
    file.chmod(0o600)
    return file


def test_the_profile_chooses_the_keys(file: Path, tmp_path: Path) -> None:
    assert read_keys(tmp_path, "default") == Keys(access_key_id="AKIA1", secret_access_key="a%b=c")
    lab = read_keys(tmp_path, "lab")
    assert lab is not None
    assert (lab.access_key_id, lab.session_token) == ("AKIA2", "e")


def test_without_a_file_there_are_no_keys(tmp_path: Path) -> None:
    assert read_keys(tmp_path, "default") is None


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_file_that_others_may_read_is_not_read(file: Path, tmp_path: Path, mode: int) -> None:
    file.chmod(mode)
    with pytest.raises(S3KeysError, match=f"mode {mode:o}.*chmod 600"):
        read_keys(tmp_path, "default")


def test_a_profile_that_is_missing_is_told_without_any_key(file: Path, tmp_path: Path) -> None:
    with pytest.raises(S3KeysError, match=r"no keys under \[other\]") as raised:
        read_keys(tmp_path, "other")
    assert "AKIA" not in raised.value.message


def test_no_key_is_shown_by_its_text() -> None:
    keys = Keys(access_key_id="AKIA1", secret_access_key="hidden", session_token="hidden")
    assert "hidden" not in repr(keys)


@pytest.mark.parametrize("text", ["a\nb", "a\r\nHost: b", "a\0b", "a b", "a\x7f", "ä"])
@pytest.mark.parametrize("name", ["access_key_id", "secret_access_key", "session_token"])
def test_nothing_that_could_end_a_header_is_a_key(name: str, text: str) -> None:
    with pytest.raises(S3KeysError, match="Copy each key by itself") as raised:
        Keys(**{"access_key_id": "AKIA1", "secret_access_key": "b", name: text})
    assert text not in raised.value.message


def test_a_key_of_two_lines_in_the_file_is_not_used(file: Path, tmp_path: Path) -> None:
    file.write_text(TEXT.replace("AKIA1", "AKIA1\n  AKIA3"))
    with pytest.raises(S3KeysError, match="Copy each key by itself"):
        read_keys(tmp_path, "default")
