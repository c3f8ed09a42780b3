"""How full folders are, as the launcher says it."""

from typing import Any

from spawner.client.storage import read_spaces
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
    spaces = await read_spaces(launcher, "ada", folders)

    assert spaces == {
        "~": Space(total_bytes=10, used_bytes=9, is_quota=True),
        "/srv/isilon": None,
    }
    request = {"verb": "storage_checks", "checks": space_checks(folders)}
    assert launcher.asked == [("ada", request)]
