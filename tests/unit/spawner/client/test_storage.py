"""How full folders are, as the launcher says it."""

from typing import Any

import pytest

from spawner.client.storage import Storage
from spawner.errors import SlurmError
from spawner.space import Space, space_checks


class FakeLauncher:
    """Answers what it was given."""

    def __init__(self, checks: dict[str, Any]) -> None:
        self.checks = checks
        self.asked: list[Any] = []

    async def order(self, user: str, request: dict[str, Any]) -> dict[str, Any]:
        self.asked.append((user, request))
        return {"ok": True, "checks": self.checks}


async def test_a_quota_counts_more_than_the_file_system_and_silence_is_told() -> None:
    launcher: Any = FakeLauncher(
        {
            "space:~": {"fault": "", "total_bytes": 100, "used_bytes": 50},
            "quota:~": {"fault": "", "said": "9 10"},
            "space:/srv/isilon": {"fault": "no-answer"},
            "quota:/srv/isilon": {"fault": "no-answer"},
            "space:/srv/closed": {"fault": "missing"},
        }
    )

    folders = ["~", "/srv/isilon", "/srv/closed"]
    spaces = await Storage(launcher).read_spaces("ada", folders)

    assert spaces == {
        "~": Space(total_bytes=10, used_bytes=9, is_quota=True),
        "/srv/isilon": None,
    }
    request = {"verb": "storage_checks", "checks": space_checks(folders)}
    assert launcher.asked == [("ada", request)]


class LauncherOfAnotherRelease:
    """Carries the request out, and says so in other words."""

    async def order(self, user: str, request: dict[str, Any]) -> dict[str, Any]:
        return {"ok": True}


async def test_an_answer_without_folders_is_a_sentence_and_no_broken_page() -> None:
    launcher: Any = LauncherOfAnotherRelease()

    with pytest.raises(SlurmError, match="did not say how full the folders are"):
        await Storage(launcher).read_spaces("ada", ["~"])
