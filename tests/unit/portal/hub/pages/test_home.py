"""What the home page says of storage, of messages and of what does not answer."""

from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dsportal.slurm.states import JobState
from portal.hub.messages.stop_notices import Notices
from portal.hub.pages import home
from portal.hub.pages.gpu_record import GpuRecord
from portal.hub.pages.home import HomePage, describe_space
from portal.hub.settings.named_storage import SiteStorage
from spawner.errors import SlurmUnavailableError
from spawner.slurm.sacct import Allocation
from spawner.space import Space

GIB = 2**30
# A Wednesday.
NOW = datetime(2026, 11, 4, 14, 20)


@pytest.mark.parametrize(
    ("space", "words", "warns"),
    [
        (Space(total_bytes=100 * GIB, used_bytes=40 * GIB), "60 GB free of 100 GB", False),
        (
            Space(total_bytes=100 * GIB, used_bytes=95 * GIB, is_quota=True),
            "5.0 GB free of your quota of 100 GB",
            True,
        ),
        (Space(total_bytes=10 * GIB, used_bytes=10 * GIB), "0.0 MB free of 10 GB", True),
        (None, "is not responding", False),
    ],
)
def test_storage_says_what_is_free_and_warns_before_it_is_full(
    space: Space | None, words: str, warns: bool
) -> None:
    bar = describe_space("Home folder", space, 90)

    assert bar.words == words
    assert ("Delete what you no longer need" in bar.warning) is warns


def answer_of(said: Any) -> Any:
    async def get_within(patience_s: float, *key: Any) -> Any:
        if isinstance(said, Exception):
            raise said
        return said

    return SimpleNamespace(get_within=get_within)


class FakeCluster:
    """Answers what a test says, or raises it."""

    name = ""

    def __init__(self, *, allocations: Any = (), spaces: Any = None) -> None:
        self.allocations = answer_of(allocations)
        self.uses = answer_of({})
        self.spaces = answer_of(spaces)


async def describe_budgets(patience_s: float) -> tuple[str, ...]:
    return ("120 of 500 GPU hours left in research.",)


def user_with(cluster: FakeCluster, *names: str, **others: FakeCluster) -> Any:
    def spawner(name: str) -> Any:
        return SimpleNamespace(
            name=name,
            cluster=cluster,
            active=False,
            ready=False,
            pending=None,
            user_options={},
            ending=None,
            clusters=others,
            on=lambda name: SimpleNamespace(
                title=name or "kepler",
                describe_budgets=describe_budgets,
                cluster=others.get(name, cluster),
            ),
            all_clusters=lambda: [cluster, *others.values()],
        )

    spawners = {name: spawner(name) for name in ("", *names)}
    return SimpleNamespace(
        name="ada",
        spawner=spawners[""],
        spawners=spawners,
        allow_named_servers=True,
        orm_user=SimpleNamespace(orm_spawners=spawners),
    )


def place(name: str, path: str, **changes: Any) -> SiteStorage:
    known = {"label": name, "read_only": False}
    return SiteStorage(name=name, path=path, **{"folder": path} | known | changes)


def page(**changes: Any) -> HomePage:
    known: dict[str, Any] = {
        "places": (place("isilon", "/srv/isilon"),),
        "warning_percent": 90.0,
        "sessions_per_user": 2,
        "notices": Notices(None),
        "gpu_record": GpuRecord(Path("/nowhere")),
        "now": lambda: NOW,
    }
    return HomePage(**known | changes)


async def test_accounting_and_file_servers_that_are_down_are_told_and_nothing_else_is_lost() -> (
    None
):
    down = FakeCluster(
        allocations=SlurmUnavailableError("Slurm's accounting does not answer."),
        spaces=SlurmUnavailableError("Slurm did not answer."),
    )

    view = await page().describe(user_with(down))

    assert [one.problem for one in view.usages] == ["Slurm's accounting does not answer."]
    assert view.storage.problem
    assert [card.view.state for card in view.cards] == ["Not running"]


def ended(days_ago: int) -> Allocation:
    starts_at = NOW - timedelta(days=days_ago)
    return Allocation(
        starts_at=starts_at,
        ends_at=starts_at + timedelta(hours=1),
        n_gpus=2,
        state=JobState.COMPLETED,
        is_session=True,
        job_id=7,
    )


async def test_each_cluster_has_its_hours_and_the_last_sessions_of_all_name_theirs() -> None:
    here = FakeCluster(allocations=[ended(1), ended(2)])
    there = FakeCluster(allocations=[ended(1), ended(0)])
    away = FakeCluster(allocations=SlurmUnavailableError("away"))

    alone = await page().describe(user_with(here))
    view = await page().describe(user_with(here, volta=there, ampere=away))

    assert [(one.cluster, len(one.budgets)) for one in alone.usages] == [("", 1)]
    assert {one.cluster for one in alone.past_sessions} == {""}
    assert [(one.cluster, bool(one.totals), one.problem) for one in view.usages] == [
        ("kepler", True, ""),
        ("volta", True, ""),
        ("ampere", False, "away"),
    ]
    assert [one.cluster for one in view.past_sessions] == ["volta", "kepler", "volta", "kepler"]


async def test_each_storage_that_users_write_has_its_bar_under_its_label() -> None:
    space = Space(total_bytes=100 * GIB, used_bytes=40 * GIB)
    places = (
        place("isilon", "/srv/isilon"),
        place("scratch", "/scratch", label="Fast disks"),
        place("library", "/library", read_only=True),
    )
    cluster = FakeCluster(spaces={"~": space, "/srv/isilon": space, "/scratch": space})

    view = await page(places=places).describe(user_with(cluster))

    assert [bar.name for bar in view.storage.bars] == ["Home folder", "isilon", "Fast disks"]


async def test_an_answer_that_is_late_comes_with_the_next_look() -> None:
    late = FakeCluster(allocations=None, spaces=None)

    view = await page().describe(user_with(late))

    assert [one.is_late for one in view.usages] == [True]
    assert view.storage.is_late
    assert view.refresh_s == 3


async def test_two_answers_of_accounting_are_waited_for_as_long_as_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []
    clock = SimpleNamespace(monotonic=lambda: sum(waits))
    monkeypatch.setattr(home, "time", clock)

    async def wait(patience_s: float, *key: Any) -> Any:
        waits.append(patience_s)
        return () if len(waits) == 1 else None

    slow = FakeCluster()
    slow.allocations = slow.uses = SimpleNamespace(get_within=wait)

    await page().describe(user_with(slow))

    assert waits == [home.PATIENCE_S, 0.0]


async def test_sessions_with_names_are_shown_and_added_up_to_the_sites_limit() -> None:
    cluster = FakeCluster(spaces={"~": None})

    one = await page().describe(user_with(cluster))
    two = await page().describe(user_with(cluster, "long-run"))

    assert one.may_add
    assert not two.may_add
    assert [card.title for card in two.cards] == ["Your session", "Session long-run"]


def test_messages_are_kept_until_they_are_read_and_survive_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "notices.json"
    notices = Notices(path)
    for number in range(7):
        notices.send("ada", f"message {number}", sender="grace")
    notices.close()

    after = Notices(path)
    assert [one.text for one in after.of("ada")] == [f"message {n}" for n in (6, 5, 4, 3, 2)]
    assert after.of("grace") == ()
    after.clear("ada")
    after.close()

    assert Notices(path).of("ada") == ()


def test_an_old_message_is_no_longer_shown() -> None:
    now_s = 0.0
    notices = Notices(None, clock=lambda: now_s)
    notices.send("ada", "x" * 1000, sender="grace")
    assert len(notices.of("ada")[0].text) == 500

    now_s = 31 * 86400
    assert notices.of("ada") == ()


@pytest.mark.parametrize("text", ["[]", '{"ada": 3}', '{"ada": [{"text": "x"}]}', "no json"])
def test_a_broken_file_of_messages_stops_nobody(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notices.json"
    path.write_text(text)

    assert Notices(path).of("ada") == ()
