"""What the hub still knows while accounting is away."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from spawner.client.accounting import Accounting
from spawner.client.command import Completed
from spawner.errors import SlurmError, SlurmUnavailableError

AWAY = "sacctmgr: error: _open_persist_conn: failed to open persistent connection"
NONE = "You are not running a supported accounting_storage plugin"


class Database:
    """What sacctmgr prints; an error if it is not None."""

    def __init__(self) -> None:
        self.printed = "Operator"
        self.error: str | None = None

    async def query(self, argv: Sequence[str]) -> Completed:
        if self.error is not None:
            raise SlurmError("sacctmgr failed", argv=argv, exit_code=1, stderr=self.error)
        return Completed(exit_code=0, stdout=self.printed, stderr="")


@pytest.fixture
def database() -> Database:
    return Database()


@pytest.fixture
def accounting(database: Database) -> Accounting:
    return Accounting(database.query)


@pytest.mark.parametrize(("level", "sees"), [("Operator", True), ("None", False), ("", False)])
async def test_the_level_is_kept_while_accounting_is_away(
    accounting: Accounting, database: Database, level: str, sees: bool
) -> None:
    database.printed = level
    assert await accounting.sees_all("dsportal") is sees

    database.error = AWAY

    assert await accounting.sees_all("dsportal") is sees


async def test_a_level_that_was_never_known_names_accounting(
    accounting: Accounting, database: Database
) -> None:
    database.error = AWAY

    with pytest.raises(SlurmUnavailableError, match="slurmdbd"):
        await accounting.sees_all("dsportal")


async def test_without_accounting_nobody_but_slurm_sees_hidden_jobs(
    accounting: Accounting, database: Database
) -> None:
    database.error = NONE

    assert not await accounting.sees_all("dsportal")


@pytest.mark.parametrize(
    ("stderr", "words"),
    [("sacct gave no answer in 8 s", "did not list all your jobs in time"), (AWAY, "responding")],
)
async def test_hours_that_take_too_long_are_not_blamed_on_accounting(
    accounting: Accounting, database: Database, stderr: str, words: str
) -> None:
    database.error = stderr

    with pytest.raises(SlurmUnavailableError, match=words):
        await accounting.read_allocations("ada", datetime(2026, 11, 1))


class SlowAccounting:
    """sacct that lists a user's jobs of a few days, and of more of them gives no answer.

    Attributes:
        jobs: By id, with first and last day of the job, counted from `FIRST`; None while it runs.
    """

    def __init__(self) -> None:
        self.jobs: dict[int, tuple[int, int | None]] = {}
        self.spans: list[tuple[datetime, datetime]] = []
        self.accounting = Accounting(self.query)

    async def query(self, argv: Sequence[str]) -> Completed:
        words = dict(word.removeprefix("--").split("=", 1) for word in argv if "=" in word)
        end = words["endtime"]
        since = datetime.fromisoformat(words["starttime"])
        until = datetime.now() if end == "now" else datetime.fromisoformat(end)
        self.spans.append((since, until))
        if until - since > timedelta(days=2):
            stderr = "sacct gave no answer in 8 s"
            raise SlurmUnavailableError("slow", argv=argv, exit_code=None, stderr=stderr)
        mark = words["delimiter"]
        lines = [
            mark.join(
                (str(job_id), f"{at:%Y-%m-%dT%H:%M:%S}", end, "gres/gpu=1", "COMPLETED", "", "x")
            )
            for job_id, (first, last) in self.jobs.items()
            for at, gone in [(day(first), day(last) if last is not None else until)]
            if at <= until and gone >= since
            for end in ["Unknown" if last is None else f"{gone:%Y-%m-%dT%H:%M:%S}"]
        ]
        return Completed(exit_code=0, stdout="\n".join(lines), stderr="")

    async def read(self) -> dict[int, bool]:
        """Return whether each job has ended, by id."""
        found = await self.accounting.read_allocations("ada", FIRST)
        assert len({one.job_id for one in found}) == len(found), "a job counts twice"
        return {one.job_id: one.ends_at is not None for one in found}


TODAY = datetime.now().replace(hour=0, minute=0, second=0, microsecond=0)
FIRST = TODAY - timedelta(days=20)


def day(n_days: int) -> datetime:
    return FIRST + timedelta(days=n_days, minutes=1)


async def test_too_many_jobs_for_one_answer_are_asked_for_day_by_day_and_past_days_once() -> None:
    slow = SlowAccounting()
    slow.jobs = {1: (0, 0), 2: (3, 7), 3: (19, None), 4: (20, 20)}

    assert await slow.read() == {1: True, 2: True, 3: False, 4: True}
    assert len(slow.spans) == 1 + 20 + 1

    slow.spans.clear()
    slow.jobs[3] = (19, 20)
    assert await slow.read() == {1: True, 2: True, 3: True, 4: True}
    ((since, _),) = slow.spans
    assert since == TODAY


async def test_jobs_of_an_ordinary_user_are_one_question() -> None:
    slow = SlowAccounting()

    assert await slow.accounting.read_allocations("ada", TODAY) == []
    assert len(slow.spans) == 1
