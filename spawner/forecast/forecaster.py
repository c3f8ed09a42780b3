"""Expected starts: Slurm's own forecasts, cached, shared and rate-limited."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

from dsportal.diagnosis.messages import Diagnosis
from dsportal.diagnosis.rejected import explain_rejection, said_by_slurm
from dsportal.slurm.no_answer import is_no_answer
from spawner.cache import Cache
from spawner.errors import JobRejectedError, SlurmError, SlurmUnavailableError
from spawner.forecast.query import ForecastQuery
from spawner.slurm.job_script import JobPlan

# Since 25.11 the name of the cluster and a stray "a" can follow the time.
_STARTS_AT = re.compile(
    r"\bJob [0-9]+ to start at (?P<time>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})\b"
)

_BUSY_FACTOR = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """Slurm would refuse such a session."""

    diagnosis: Diagnosis


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """One answer of Slurm.

    Attributes:
        answer: When the session would start, or why it would be refused.
        made_at: When Slurm answered.
    """

    answer: datetime | Rejection
    made_at: datetime


def parse_test_only(stderr: str, now: datetime) -> datetime | Rejection:
    """Return when Slurm would start a job.

    The forecast knows the jobs that run and wait, and their time limits. It does not know jobs
    that will end early or be submitted later, nor limits of a QOS or a partition's longest time:
    a job over these is forecast as if it could start.

    Args:
        stderr: Standard error of sbatch --test-only.
        now: Current time, in the time zone in which sbatch prints.

    Returns:
        The start, never before now, or the refusal.

    Source:
        sbatch(1), --test-only; captures of 22.05.8 in tests/unit/spawner/golden; job_will_run in
        src/api/allocate.c of Slurm 22.05 to 25.11.
    """
    match = _STARTS_AT.search(stderr)
    if match is not None:
        with contextlib.suppress(ValueError):
            start = datetime.fromisoformat(match["time"]).replace(tzinfo=now.tzinfo)
            return max(start, now)
    if is_no_answer(stderr):
        raise SlurmUnavailableError(
            "Slurm did not say when the session would start. Try again in a minute.",
            stderr=stderr,
        )
    if "allocation failure" in stderr or "error:" in stderr:
        return Rejection(diagnosis=explain_rejection(stderr))
    raise SlurmError(
        "Slurm's forecast cannot be read. Start the session without one: it waits in the queue as "
        "usual. "
        f"Slurm said {said_by_slurm(stderr)[:200]!r}.",
        stderr=stderr,
    )


class Forecaster:
    """Asks Slurm for forecasts, up to a rate, and caches the answers.

    Args:
        ask: Runs sbatch --test-only for a question and returns its standard error; may raise
            JobRejectedError.
        now: Current time, in the time zone in which sbatch prints.
        asks_per_minute: Most questions to Slurm in a minute; 0 for none. One costs about as
            much as a submit.
        fresh_s: Seconds until an answer expires; three times as long while many users ask.
        stale_s: Seconds for which an expired answer is still used if Slurm may not or cannot be
            asked.
        at_once: Most questions to Slurm at the same time, 1 or more.
    """

    def __init__(
        self,
        ask: Callable[[ForecastQuery], Awaitable[str]],
        *,
        clock: Callable[[], float],
        now: Callable[[], datetime],
        asks_per_minute: int,
        fresh_s: float,
        stale_s: float = 600.0,
        at_once: int = 4,
    ) -> None:
        self._ask = ask
        self._at_once = asyncio.Semaphore(at_once)
        self._clock = clock
        self._now = now
        self._bucket = _TokenBucket(asks_per_minute, clock)
        self._known = Cache(
            self._ask_slurm,
            fresh_s=fresh_s,
            busy_factor=_BUSY_FACTOR,
            stale_s=stale_s,
            clock=clock,
        )

    async def forecast(self, question: ForecastQuery) -> Forecast | None:
        """Return when a session would start.

        Users who ask the same at the same time share one question to Slurm; one who leaves does
        not cancel it for the others.

        Returns:
            The answer, some minutes old at most; its start can have passed by now. None if nothing
            is known: too many questions, or no answer from Slurm.
        """
        # The account has its own place in the key: users for whom it is the default share the
        # answer, too.
        names = tuple(pair for pair in question.plan.names if pair[0] != "account")
        plan = replace(question.plan, names=names)
        own = _Key(question.user, question.account, plan, question)
        shared = own if question.account is None else replace(own, user="")
        # The user's own comes first: only a refusal is kept there.
        known = self._known.fresh(own) or self._known.fresh(shared)
        if known is not None:
            return known
        with contextlib.suppress(SlurmError):
            await self._known.get(shared)
        return self._known.latest(own) or self._known.latest(shared)

    async def _ask_slurm(self, key: _Key) -> Forecast:
        if not self._bucket.take():
            raise _NoSharedAnswerError("Slurm was asked for too many forecasts in this minute.")
        try:
            async with self._at_once:
                answer = parse_test_only(await self._ask(key.question), self._now())
        except JobRejectedError as error:
            answer = Rejection(diagnosis=explain_rejection(error.stderr))
        forecast = Forecast(answer=answer, made_at=self._now())
        if isinstance(answer, Rejection) and not key.user:
            # A refusal can be about this user alone, so it is not shared with the account.
            self._known.put(forecast, replace(key, user=key.question.user))
            raise _NoSharedAnswerError("Slurm refused the job of this user.")
        return forecast


@dataclass(frozen=True, slots=True)
class _Key:
    """Whom an answer is for: one user, or with an empty name everybody of the account."""

    user: str
    account: str | None
    plan: JobPlan
    # Whoever asks first asks for all.
    question: ForecastQuery = field(compare=False)


class _NoSharedAnswerError(SlurmError):
    """There is no answer that others could use; never shown."""


class _TokenBucket:
    """A rate limit: so many a minute, and as many at once."""

    def __init__(self, per_minute: int, clock: Callable[[], float]) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._tokens = float(per_minute)
        self._filled_s = clock()

    def take(self) -> bool:
        now_s = self._clock()
        gained = (now_s - self._filled_s) * self._per_minute / 60
        self._tokens = min(self._tokens + gained, float(self._per_minute))
        self._filled_s = now_s
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
