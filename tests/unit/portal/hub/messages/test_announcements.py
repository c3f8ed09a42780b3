"""Announcements: what the file may hold, when they are shown, and that a change is seen."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from portal.hub.messages.announcements import (
    Announcement,
    AnnouncementBoard,
    Level,
    load_announcements,
)
from spawner.errors import SettingsError

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "announcements.toml"


def test_an_announcement_has_a_text_a_level_and_times(path: Path) -> None:
    path.write_text(
        '[[announcement]]\ntext = "Maintenance <soon>"\nlevel = "warning"\n'
        "from = 2026-11-20T08:00:00Z\nuntil = 2026-11-21T08:00:00+01:00\n"
        '[[announcement]]\ntext = "Welcome"\n'
    )

    assert load_announcements(path) == (
        Announcement(
            text="Maintenance <soon>",
            level=Level.WARNING,
            begins_at=datetime(2026, 11, 20, 8, tzinfo=UTC),
            ends_at=datetime(2026, 11, 21, 7, tzinfo=UTC),
        ),
        Announcement(text="Welcome"),
    )


def test_a_time_without_a_zone_is_the_hubs_own(path: Path) -> None:
    path.write_text(
        '[[announcement]]\ntext = "x"\nfrom = 2026-11-20T08:00:00\nuntil = 2026-11-21\n'
    )

    (only,) = load_announcements(path)

    assert only.begins_at == datetime(2026, 11, 20, 8).astimezone()
    assert only.ends_at == datetime(2026, 11, 21).astimezone()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("announcement = 3", r"only \[\[announcement"),
        ("[announcement]", r"only \[\[announcement"),
        ('title = "x"', r"only \[\[announcement"),
        ("[[announcement]]", "needs a 'text'"),
        ('[[announcement]]\ntext = " "', "needs a 'text'"),
        (f'[[announcement]]\ntext = "{"x" * 1001}"', "1 to 1000 characters"),
        ('[[announcement]]\ntext = "x"\nlevel = "loud"', "info, warning, problem"),
        ('[[announcement]]\ntext = "x"\nuntill = 2026-11-21', "Did you mean 'until'"),
        ('[[announcement]]\ntext = "x"\nuntil = "tomorrow"', "'until' of Announcement 1"),
        ("[[announcement", "is not TOML"),
    ],
)
def test_a_wrong_file_is_told_with_the_announcement_and_the_key(
    path: Path, text: str, said: str
) -> None:
    path.write_text(text)

    with pytest.raises(SettingsError, match=said):
        load_announcements(path)


def test_it_is_shown_between_its_times() -> None:
    def shown(begin_h: int | None, end_h: int | None) -> bool:
        begins_at, ends_at = (h if h is None else NOW.replace(hour=h) for h in (begin_h, end_h))
        return Announcement(text="x", begins_at=begins_at, ends_at=ends_at).is_shown(NOW)

    assert shown(None, None)
    assert shown(12, 13)
    assert not shown(13, None)
    assert not shown(None, 12)


def write(path: Path, text: str) -> None:
    path.write_text(f'[[announcement]]\ntext = "{text}"\n')
    # Two writes in one tick of the file system's clock are told apart all the same.
    os.utime(path, ns=(0, hash(text) % 10**9))


def test_a_change_is_seen_without_a_restart_and_a_mistake_changes_nothing(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    board = AnnouncementBoard(path, now=lambda: NOW)

    def texts() -> list[str]:
        return [one.text for one in board.current]

    assert texts() == []
    write(path, "one")
    assert texts() == ["one"]
    write(path, "two")
    assert texts() == ["two"]
    path.write_text("[[announcement")
    assert texts() == ["two"]
    assert texts() == ["two"]
    assert len(caplog.records) == 1, "the same mistake is told once"
    path.unlink()
    assert texts() == []
