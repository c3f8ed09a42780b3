"""Of the jobs that have ended, accounting is asked for what is new."""

from collections.abc import Sequence

import pytest

from portal.server.jobs import ended
from portal.server.jobs.ended import LATE_S, WHOLE_S, EndedJobs
from spawner.client.command import Completed
from spawner.errors import SlurmUnavailableError

_FIELDS = "gpu|00:01:00|00:10:00|1|8|cpu=8|2026-11-23T06:00:00|0:0|node01|||train"


class Accounting:
    """Answers as sacct does; without rows it is down."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.since: list[str] = []
        self.rows: dict[str, str] | None = {}

    async def query(self, argv: Sequence[str], *, timeout_s: float) -> Completed:
        options = dict(word.removeprefix("--").partition("=")[::2] for word in argv)
        self.since.append(options["starttime"])
        if self.rows is None:
            raise SlurmUnavailableError("Slurm's accounting is not responding.")
        lines = (f"{job_id}|{state}|{_FIELDS}" for job_id, state in self.rows.items())
        printed = "\n".join(lines).replace("|", options["delimiter"])
        return Completed(exit_code=0, stdout=printed, stderr="")


@pytest.fixture
def accounting(monkeypatch: pytest.MonkeyPatch) -> Accounting:
    stand_in = Accounting()
    monkeypatch.setattr(ended, "query", stand_in.query)
    monkeypatch.setattr(ended.time, "monotonic", lambda: stand_in.now_s)
    return stand_in


async def states(jobs: EndedJobs) -> dict[str, str]:
    return {row[0]: row[1] for row in await jobs.read()}


async def test_all_jobs_of_the_day_are_asked_for_once_and_then_the_newest(
    accounting: Accounting,
) -> None:
    jobs = EndedJobs(15)
    accounting.rows = {"1": "COMPLETED", "2": "RUNNING"}
    assert await states(jobs) == accounting.rows
    accounting.now_s += 4
    accounting.rows = {"2": "FAILED", "3": "COMPLETED"}
    assert await states(jobs) == {"1": "COMPLETED", "2": "FAILED", "3": "COMPLETED"}

    # What accounting has heard late, or has forgotten, comes with the next whole answer.
    accounting.now_s += WHOLE_S
    assert await states(jobs) == accounting.rows
    assert accounting.since == ["now-1days", f"now-{LATE_S + 4}seconds", "now-1days"]


async def test_while_accounting_is_down_its_last_answer_stays_and_no_job_is_missed_after(
    accounting: Accounting,
) -> None:
    jobs = EndedJobs(15)
    accounting.rows = {"1": "COMPLETED"}
    await jobs.read()
    accounting.rows = None
    accounting.now_s += 300
    assert await states(jobs) == {"1": "COMPLETED"}
    accounting.now_s += 60
    await jobs.read()

    assert accounting.since[-1] == f"now-{LATE_S + 360}seconds"
