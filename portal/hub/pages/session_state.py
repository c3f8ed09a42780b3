"""Data of a session for the server page and the waiting page."""

from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup

from dsportal.amounts import format_duration, format_time_left
from dsportal.slurm.states import Phase
from portal.hub.pages.failure_view import describe_ending, describe_failure
from portal.hub.pages.suspension import describe_suspension, is_suspended
from portal.hub.pages.time_tags import render_fact, render_time
from spawner.hub.session_mixin import SessionMixin
from spawner.options.request import describe_gpus
from spawner.session.progress import Progress
from spawner.session.queue_status import EXPECTED_START, QUEUE_PLACE, slurm_time_s
from spawner.session.session import Session
from spawner.slurm.jobs import JobRecord

QUEUE_FACTS = (EXPECTED_START, QUEUE_PLACE)


@dataclass(frozen=True, slots=True)
class StateFact:
    """A label, a value and small print, as text or HTML.

    Attributes:
        name: For example "Time left".
        left_s: Seconds from which the value counts down to 0; None for no countdown.
    """

    name: str
    value: str | Markup
    detail: str | Markup = ""
    left_s: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """One session as pages show it.

    Attributes:
        state: One or two words.
        tone: "good", "wait" or "off": the colour of the state.
        sentence: What the state means and what to do.
        facts: GPUs, node, time left and job, as far as known.
        is_changing: Whether the page should soon reload its data.
        is_queued: Its job waits in Slurm's queue.
        has_failed: Its last start failed; `describe_failure` says why.
        ended_at: When it ended without being stopped in the portal, in seconds since 1970 (UTC);
            else None. `describe_ending` says why.
    """

    state: str
    tone: str
    sentence: str
    facts: tuple[StateFact, ...] = ()
    is_changing: bool = False
    is_queued: bool = False
    has_failed: bool = False
    ended_at: float | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the last session ended without being stopped in the portal."""
        return self.ended_at is not None


def describe_session(spawner: SessionMixin, now: datetime | None = None) -> SessionView:
    """Return the session of a spawner, running or not.

    `now` is in the hub's time zone.
    """
    now = now or datetime.now().astimezone()
    # First: a session that is stopping is still active to JupyterHub.
    if spawner.pending == "stop":
        return SessionView(
            state="Stopping",
            tone="wait",
            sentence="The job leaves the cluster in a few seconds.",
            is_changing=True,
        )
    if not spawner.active:
        return _describe_idle(spawner)
    facts = _facts(spawner, now)
    if spawner.pending:
        return _describe_start(spawner, facts, now)
    # To JupyterHub a suspended session is ready.
    if is_suspended(spawner):
        return SessionView(
            state="Suspended",
            tone="wait",
            sentence=describe_suspension(),
            facts=facts,
            is_changing=True,
        )
    if spawner.has_other_authority:
        return SessionView(
            state="Unreachable",
            tone="off",
            sentence="It was started under another certificate authority of the portal, so nobody"
            " can open it. Its kernels still run. Stop it, then start it again.",
            facts=facts,
        )
    return SessionView(
        state="Running",
        tone="good",
        sentence="My Server opens it. It keeps running while you are away, until its time limit.",
        facts=facts,
    )


def _describe_start(
    spawner: SessionMixin, facts: tuple[StateFact, ...], now: datetime
) -> SessionView:
    progress: Progress = spawner.start_progress
    # Not progress.log: to look at the home page is not to have the waiting page open.
    last = progress.last
    is_queued = last is not None and last.name == "queued"
    sentence = last.message if is_queued and last is not None else progress.line
    # What the waiting page shows of the queue; the rest is in `facts`.
    queue = tuple(
        StateFact(fact.name, render_fact(fact, now))
        for fact in progress.facts
        if fact.name in QUEUE_FACTS
    )
    return SessionView(
        state="Waiting" if is_queued else "Starting",
        tone="wait",
        sentence=sentence or "The session is starting.",
        facts=facts[:1] + queue + facts[1:],
        is_changing=True,
        is_queued=is_queued,
    )


def _describe_idle(spawner: SessionMixin) -> SessionView:
    # JupyterHub keeps the exception of a failed start until the next start.
    failed = getattr(spawner, "_failed", None)
    failure = describe_failure(failed or None, spawner)
    # The failed start is newer than the end of the session before it.
    ending = None if failure else describe_ending(spawner)
    sentence = "Nothing is running. The button starts a session."
    if failure is not None:
        sentence = f"The last start failed: {failure.sentence}"
    elif ending is not None:
        sentence = f"The last session has ended: {ending.sentence}"
    return SessionView(
        state="Not running",
        tone="off",
        sentence=sentence,
        has_failed=failure is not None,
        ended_at=None if ending is None else ending.at,
    )


def describe_request(spawner: SessionMixin) -> str:
    """Return what a starting session of a spawner has requested: "2 simulated GPUs for 8 hours".

    Returns:
        Empty if nothing is known yet.
    """
    session: Session | None = spawner.session
    if session is None or not session.walltime_s:
        return ""
    gpus = describe_gpus(session.n_gpus, are_simulated=spawner.simulated_gpus)
    return f"{gpus} for {format_duration(session.walltime_s)}"


def _facts(spawner: SessionMixin, now: datetime) -> tuple[StateFact, ...]:
    session: Session | None = spawner.session
    if session is None:
        return ()
    detail = "simulated" if spawner.simulated_gpus else ""
    facts = [StateFact("GPUs", str(session.n_gpus), detail)]
    if session.cluster:
        facts.append(StateFact("Cluster", session.cluster))
    record: JobRecord | None = spawner.job_record
    if record is not None and record.state.phase is Phase.RUNNING:
        facts.append(StateFact("Node", record.node))
        facts.extend(_time_left(spawner, record, now))
    if session.job_id:
        facts.append(StateFact("Slurm job", str(session.job_id)))
    return tuple(facts)


def _time_left(spawner: SessionMixin, record: JobRecord, now: datetime) -> list[StateFact]:
    left_s: int | None = spawner.left_s
    if left_s is None:
        return []
    ends_at = slurm_time_s(record.ends_at)
    until = Markup("until {}").format(render_time(ends_at, now)) if ends_at else ""
    return [StateFact("Time left", format_time_left(left_s), until, left_s)]
