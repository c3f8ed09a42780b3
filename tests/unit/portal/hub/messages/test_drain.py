"""The drain: it holds over restarts, and in doubt."""

from pathlib import Path

import pytest

from portal.hub.messages import drain as module
from portal.hub.messages.drain import DEFAULT_MESSAGE, MOST_CHARACTERS, Drain
from spawner.errors import SiteError
from spawner.session.spawn_error import StartFailedError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "drain.json"


def test_starts_are_refused_with_the_message_until_it_is_opened_also_by_the_next_hub(
    path: Path,
) -> None:
    drain = Drain(path)
    drain.refuse(None)
    drain.close("  New disks until noon.  ")

    for hub in (drain, Drain(path)):
        with pytest.raises(StartFailedError) as caught:
            hub.refuse(None)
        assert "New disks until noon." in caught.value.error.message
        (said,) = hub.announcements()
        assert said.text.startswith("New disks until noon. ")

    drain.open()
    for hub in (drain, Drain(path)):
        hub.refuse(None)
        assert hub.announcements() == ()


@pytest.mark.parametrize("text", ["", "   "])
def test_without_a_message_it_has_one_all_the_same(path: Path, text: str) -> None:
    drain = Drain(path)
    drain.close(text)

    assert drain.message == Drain(path).message == DEFAULT_MESSAGE


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '"text"'])
def test_a_file_that_cannot_be_read_is_a_drain(path: Path, content: str) -> None:
    path.write_text(content)

    assert Drain(path).message == DEFAULT_MESSAGE


def test_a_message_is_cut(path: Path) -> None:
    drain = Drain(path)
    drain.close("x" * (MOST_CHARACTERS + 1))

    assert drain.message == "x" * MOST_CHARACTERS


def test_what_cannot_be_kept_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    drain = Drain(path)
    monkeypatch.setattr(module, "write_whole", full)
    with pytest.raises(SiteError):
        drain.close("New disks.")

    drain.refuse(None)
    assert drain.message == ""
