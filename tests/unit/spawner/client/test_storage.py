"""How full folders are: what stat and a quota program print."""

from __future__ import annotations

from typing import Any

import pytest

from spawner.client.storage import MOST_FOLDERS, Storage
from spawner.errors import SlurmError
from spawner.programs import storage
from spawner.space import Space


def test_the_program_takes_as_many_folders_as_the_hub_asks_about() -> None:
    assert storage.MOST_FOLDERS == MOST_FOLDERS


class FakeLauncher:
    """Answers what it was given."""

    def __init__(self, folders: dict[str, Any]) -> None:
        self.folders = folders
        self.asked: list[Any] = []

    async def order(self, user: str, request: dict[str, Any]) -> dict[str, Any]:
        self.asked.append((user, request))
        return {"ok": True, "folders": self.folders}


async def test_a_quota_counts_more_than_the_file_system_and_silence_is_told() -> None:
    launcher: Any = FakeLauncher(
        {
            "~": {"statfs": "1 100 50 50", "quota": "9 10"},
            "/srv/isilon": {"statfs": "", "quota": ""},
        }
    )

    spaces = await Storage(launcher).read_spaces("ada", ["~", "/srv/isilon"])

    assert spaces == {
        "~": Space(total_bytes=10, used_bytes=9, is_quota=True),
        "/srv/isilon": None,
    }
    assert launcher.asked == [("ada", {"verb": "storage", "folders": ["~", "/srv/isilon"]})]


class LauncherOfAnotherRelease:
    """Carries the request out, and says so in other words."""

    async def order(self, user: str, request: dict[str, Any]) -> dict[str, Any]:
        return {"ok": True}


async def test_an_answer_without_folders_is_a_sentence_and_no_broken_page() -> None:
    launcher: Any = LauncherOfAnotherRelease()

    with pytest.raises(SlurmError, match="did not say how full the folders are"):
        await Storage(launcher).read_spaces("ada", ["~"])
