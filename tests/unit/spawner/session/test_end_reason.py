"""Why a session ended, where Slurm's parts do not know it all at once."""

import time
from dataclasses import replace
from typing import Any

import pytest

from dsportal.diagnosis import Situation, explain_end
from dsportal.slurm.states import JobState
from spawner.client.accounting import Accounting
from spawner.client.command import Completed
from spawner.errors import SlurmError
from spawner.options.retry_options import correct
from spawner.own_config import reading_sentence
from spawner.session import end_reason
from spawner.session.session import Session
from spawner.slurm.jobs import JobEnd, JobKey

SESSION = Session(session_id="0", user="root", job_id=17, n_gpus=1)


class LateSlurm:
    """A Slurm whose accounting hears late who cancelled a job."""

    def __init__(self, *, n_anonymous: int = 0, uid: int = 0) -> None:
        self.accounting = Accounting(self._no_query)
        self._n_anonymous = n_anonymous
        self._uid = uid

    async def _no_query(self, argv: object) -> Any:
        raise SlurmError("This accounting answers nothing.")

    async def read_end(self, key: JobKey) -> JobEnd:
        self._n_anonymous -= 1
        uid = None if self._n_anonymous >= 0 else self._uid
        return JobEnd(state=JobState.CANCELLED, cancelled_by_uid=uid)


async def explain(slurm: Any) -> str:
    return str(await end_reason.explain_session_end(slurm, SESSION))


async def test_who_cancelled_a_session_is_told_when_accounting_is_some_seconds_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(end_reason, "_FIRST_PAUSE_S", 0.001)

    by_user = Situation(user_uid=0)
    told = explain_end(JobState.CANCELLED, cancelled_by_uid=0, situation=by_user)
    assert await explain(LateSlurm(n_anonymous=8)) == str(told)


async def test_what_the_hub_itself_cancelled_is_not_blamed_on_somebody_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(end_reason.os, "getuid", lambda: 998)

    assert "The portal ended the session." in await explain(LateSlurm(uid=998))
    assert "Somebody else (uid 997)" in await explain(LateSlurm(uid=997))


async def test_a_cluster_without_accounting_is_not_waited_for() -> None:
    slurm = LateSlurm(n_anonymous=99)
    slurm.accounting.is_kept = False
    before = time.monotonic()

    assert "The session was cancelled." in await explain(slurm)

    assert time.monotonic() - before < 1


async def test_accounting_that_never_hears_of_it_does_not_hold_the_answer_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(end_reason, "_FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(end_reason, "_ACCOUNTING_TIMEOUT_S", 0.05)

    assert "The session was cancelled." in await explain(LateSlurm(n_anonymous=99))


async def test_a_session_whose_time_limit_was_shortened_is_told_the_limit_that_it_reached() -> None:
    class Shortened(LateSlurm):
        async def read_end(self, key: JobKey) -> JobEnd:
            return JobEnd(state=JobState.TIMEOUT, time_limit_s=1800)

    session = replace(SESSION, walltime_s=8 * 3600)

    error = await end_reason.explain_session_end(Shortened(), session)  # type: ignore[arg-type]

    assert "reached its time limit of 30 minutes" in str(error)


@pytest.mark.parametrize(
    ("measured", "used", "advises_more"),
    [("\n307200K\n1024K\n", "0.3 of 24 GB", False), ("23G\n", "23.0 of 24 GB", True)],
)
async def test_a_killed_session_is_told_how_much_memory_was_in_use(
    measured: str, used: str, advises_more: bool
) -> None:
    class Killed(LateSlurm):
        async def _no_query(self, argv: object) -> Completed:
            return Completed(exit_code=0, stdout=measured, stderr="")

        async def read_end(self, key: JobKey) -> JobEnd:
            return JobEnd(state=JobState.FAILED, exit_code=137)

    session = replace(SESSION, memory_mib=24 * 1024)

    error = await end_reason.explain_session_end(Killed(), session)  # type: ignore[arg-type]

    assert used in str(error)
    assert ("with more GPUs" in error.next_step) is advises_more
    assert error.end is not None
    assert bool(correct({"gpus": "1"}, error.end, most_gpus=4)) is advises_more


@pytest.mark.parametrize("answer", ["", "\n\n", "much\n"])
async def test_of_a_killed_session_without_a_figure_none_is_told(answer: str) -> None:
    class Killed(LateSlurm):
        async def _no_query(self, argv: object) -> Completed:
            return Completed(exit_code=0, stdout=answer, stderr="")

        async def read_end(self, key: JobKey) -> JobEnd:
            return JobEnd(state=JobState.FAILED, signal=9)

    session = replace(SESSION, memory_mib=24 * 1024)

    error = await end_reason.explain_session_end(Killed(), session)  # type: ignore[arg-type]

    assert "often because" in str(error)
    assert error.end is not None
    assert error.end.memory_share is None


@pytest.mark.parametrize("is_ready", [False, True])
async def test_own_files_are_named_if_a_session_ended_before_its_first_answer(
    monkeypatch: pytest.MonkeyPatch, is_ready: bool
) -> None:
    async def read_log_lines(*_: object, **__: object) -> str:
        return reading_sentence(["~/.jupyter/jupyter_config.py"])

    class Failed(LateSlurm):
        async def read_end(self, key: JobKey) -> JobEnd:
            return JobEnd(state=JobState.FAILED, exit_code=1)

    monkeypatch.setattr(end_reason, "read_log_lines", read_log_lines)
    session = replace(SESSION, is_ready=is_ready)

    failed: Any = Failed()
    error = (await end_reason.read_session_end(failed, session, secrets=())).error

    assert error.needs_rescue is not is_ready
    assert ("Your own ~/.jupyter/jupyter_config.py may be the cause." in str(error)) != is_ready
    cancelled: Any = LateSlurm(uid=998)
    assert not (
        await end_reason.read_session_end(cancelled, session, secrets=())
    ).error.needs_rescue
