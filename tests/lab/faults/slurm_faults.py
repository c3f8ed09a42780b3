"""Faults of Slurm: its daemons, and what administrators and other jobs do to the sessions' jobs."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from deploy.one_machine.layout import SLURM_DIR
from tests.lab.faults.bring_up import RUNNING, WAITING
from tests.lab.faults.fault import Fault, Strike, let_pass, stopped
from tests.lab.faults.member import Member
from tests.lab.faults.stage import Stage, jobs_of, output, run
from tests.support import parts
from tests.support.eventually import eventually

# What slurmctld heard in its last seconds it may not have written down.
SOON_S = 2
CONTROLLER_AWAY_S = 90
AWAY_S = 25
# Slurm looks for jobs that are over their limit every half minute.
END_TIMEOUT_S = 180
TOLD_TIMEOUT_S = 90


def victim(stage: Stage) -> tuple[Member, str]:
    """Return who will lose his session, and its job."""
    member = stage.holders[0]
    stage.victims.add(member.name)
    return member, str(jobs_of(member)[0].job_id)


def wait_until_gone(members: Sequence[Member]) -> None:
    """Wait until users have no job."""
    eventually(lambda: not any(map(jobs_of, members)), timeout_s=END_TIMEOUT_S)


@contextmanager
def kill_controller(stage: Stage) -> Iterator[None]:
    """Kill slurmctld within the first seconds of the starts."""
    let_pass(stage.random.uniform(0, SOON_S))
    parts.kill("slurmctld")
    yield
    parts.start("slurmctld")


@contextmanager
def requeue(stage: Stage) -> Iterator[None]:
    """Put the job of a session back into the queue."""
    _, job = victim(stage)
    run("scontrol", "update", f"JobId={job}", "Requeue=1")
    run("scontrol", "requeue", job)
    yield


@contextmanager
def suspend(stage: Stage) -> Iterator[None]:
    """Suspend the job of a session, until its user is told."""
    member = stage.holders[0]
    job = str(jobs_of(member)[0].job_id)
    run("scontrol", "suspend", job)
    try:
        eventually(lambda: "suspended" in member.home().lower(), timeout_s=TOLD_TIMEOUT_S)
        yield
    finally:
        run("scontrol", "resume", job)


@contextmanager
def hold(stage: Stage) -> Iterator[None]:
    """Hold the job of a session that waits."""
    job = str(jobs_of(stage.queued[0])[0].job_id)
    run("scontrol", "hold", job)
    let_pass(10)
    yield
    run("scontrol", "release", job)


@contextmanager
def shorten(stage: Stage) -> Iterator[None]:
    """Give a session a time limit that is over soon."""
    member, job = victim(stage)
    run("scontrol", "update", f"JobId={job}", "TimeLimit=1")
    wait_until_gone([member])
    yield


@contextmanager
def cancel(stage: Stage) -> Iterator[None]:
    """Cancel the job of a session as root."""
    member, job = victim(stage)
    run("scancel", job)
    wait_until_gone([member])
    yield


def preempted(mode: str) -> Strike:
    """Return what takes a node for a job that may preempt sessions, which end by it."""

    @contextmanager
    def strike(stage: Stage) -> Iterator[None]:
        node = jobs_of(stage.holders[0])[0].node
        losers = [member for member in stage.holders if jobs_of(member)[0].node == node]
        stage.victims |= {member.name for member in losers}
        with urgent_job(mode, node, "--exclusive", "--mem=0"):
            wait_until_gone(losers)
            yield

    return strike


@contextmanager
def preempt_by_suspending(stage: Stage) -> Iterator[None]:
    """Suspend the sessions of a node for a job that needs their cores, until users are told."""
    member = stage.holders[0]
    node = jobs_of(member)[0].node
    # Memory and GPUs stay with those who are suspended.
    with urgent_job("SUSPEND,GANG", node, f"--ntasks={n_cores(node)}", "--mem=1"):
        eventually(lambda: "suspended" in member.home().lower(), timeout_s=TOLD_TIMEOUT_S)
        yield
    eventually(lambda: jobs_of(member)[0].state == "RUNNING", timeout_s=END_TIMEOUT_S)


def n_cores(node: str) -> int:
    """Return the cores of a node."""
    return int(run("sinfo", "-h", "-n", node, "-o", "%c").split()[0])


@contextmanager
def urgent_job(mode: str, node: str, *options: str) -> Iterator[None]:
    """Start a job that preempts those of a node, and end it."""
    path = SLURM_DIR / "slurm.conf"
    text = path.read_text()
    parts.stop("slurmctld")
    path.write_text(with_urgent_partition(text, node, mode))
    parts.start("slurmctld")
    words = ("--partition=urgent", "--time=10", "--output=/dev/null", *options)
    wrap = ("--parsable", "--uid=ada", "--chdir=/", "--wrap=exec sleep 600")
    job = run("sbatch", *words, *wrap)
    try:
        yield
    finally:
        run("scancel", job)
        # A node must not belong to a partition that is gone while one of its jobs ends.
        eventually(lambda: not output("squeue", "-h", "-p", "urgent"), timeout_s=END_TIMEOUT_S)
        parts.stop("slurmctld")
        path.write_text(text)
        parts.start("slurmctld")


def with_urgent_partition(conf: str, node: str, mode: str) -> str:
    """Add a partition whose jobs preempt those of the others.

    Source:
        slurm.conf(5), Slurm 22.05: PreemptType, PreemptMode, PriorityTier.
    """
    added = (
        "PreemptType=preempt/partition_prio",
        f"PreemptMode={mode}",
        f"PartitionName=urgent Nodes={node} PriorityTier=10 State=UP MaxTime=60",
    )
    return "\n".join([conf.rstrip(), *added, ""])


@contextmanager
def remove_partition(_: Stage) -> Iterator[None]:
    """Take away the partition of those who wait."""
    path = SLURM_DIR / "slurm.conf"
    text = path.read_text()
    lines = text.splitlines(keepends=True)
    path.write_text("".join(li for li in lines if not li.startswith(f"PartitionName={WAITING} ")))
    run("scontrol", "reconfigure")
    try:
        let_pass(10)
        yield
    finally:
        path.write_text(text)
        run("scontrol", "reconfigure")


@contextmanager
def close_partition(_: Stage) -> Iterator[None]:
    """Close the partition in which the starters start."""
    run("scontrol", "update", f"PartitionName={RUNNING}", "State=DOWN")
    try:
        let_pass(10)
        yield
    finally:
        run("scontrol", "update", f"PartitionName={RUNNING}", "State=UP")


FAULTS = (
    Fault(
        name="slurmctld-killed",
        what=f"slurmctld killed within {SOON_S} s of the starts",
        strike=kill_controller,
    ),
    Fault(
        name="slurmctld-away",
        what=f"slurmctld away for {CONTROLLER_AWAY_S} s",
        strike=stopped("slurmctld", CONTROLLER_AWAY_S),
    ),
    *(
        Fault(
            name=f"{part}-killed",
            what=f"{part} killed and away for {AWAY_S} s",
            strike=stopped(part, AWAY_S),
        )
        for part in ("slurmdbd", "mariadb", "munge")
    ),
    Fault(
        name="requeue",
        what="job of a session requeued by an administrator",
        strike=requeue,
        says="put it back into the queue",
    ),
    Fault(name="suspend", what="job of a session suspended and resumed", strike=suspend),
    Fault(name="hold", what="job of a waiting session held and released", strike=hold),
    Fault(
        name="time-limit",
        what="time limit of a session shortened to a minute",
        strike=shorten,
        says="time limit",
    ),
    Fault(
        name="cancel",
        what="job of a session cancelled by an administrator",
        strike=cancel,
        says="cancel",
    ),
    *(
        Fault(
            name=name,
            what=f"a node's sessions preempted by a job (PreemptMode={mode})",
            strike=preempted(mode),
            says="higher priority",
            says_to_starters="higher priority",
        )
        for name, mode in (("preemption", "CANCEL"), ("preemption-requeue", "REQUEUE"))
    ),
    Fault(
        name="preemption-suspend",
        what="a node's sessions suspended for a job (PreemptMode=SUSPEND,GANG), and resumed",
        strike=preempt_by_suspending,
    ),
    Fault(
        name="partition-removed",
        what="partition of the waiting sessions removed for 10 s",
        strike=remove_partition,
        may_lose_queued=True,
    ),
    Fault(
        name="partition-down",
        what="partition of the starting sessions down for 10 s",
        strike=close_partition,
    ),
)
