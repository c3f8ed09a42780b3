"""Users around a fault: some hold a session, some start one, some wait in the queue."""

import random
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from tests.lab.faults.bring_up import RUNNING, WAITING
from tests.lab.faults.member import Member
from tests.support import parts
from tests.support.eventually import eventually
from tests.support.portal_client import QueuedJob, sessions_of

# On a busy machine a notebook server takes its time.
READY_TIMEOUT_S = 180
GONE_TIMEOUT_S = 90
BLOCKER = "blocker"


class Stage:
    """The users of one campaign, and what they are at."""

    def __init__(self, n_of_each: int, names: list[str], seed: int) -> None:
        with ThreadPoolExecutor(4) as pool:
            members = list(pool.map(Member, names))
        self.holders = members[:n_of_each]
        self.starters = members[n_of_each : 2 * n_of_each]
        self.queued = members[2 * n_of_each :]
        self.victims: set[str] = set()
        self.random = random.Random(seed)
        self._pool = ThreadPoolExecutor(len(members))

    @property
    def members(self) -> list[Member]:
        """All of them."""
        return [*self.holders, *self.starters, *self.queued]

    def set_up(self) -> None:
        """Let holders hold and the queued wait, and clear away the rest."""
        self.victims.clear()
        self.clear()
        for member in (*self.starters, *self.queued):
            member.answer = None
        self._each(self._hold, self.holders)
        fill(WAITING)
        self._each(lambda member: member.start(WAITING), self.queued)
        eventually(lambda: all(jobs_of(m) for m in self.queued), timeout_s=READY_TIMEOUT_S)
        # What slurmctld has not written down it may forget.
        for member in self.queued:
            parts.wait_until_saved(jobs_of(member)[0].job_id)

    def leave_only(self, member: Member) -> None:
        """Let one user hold a session, and end those of all others."""
        self.victims.clear()
        others = [other for other in self.members if other is not member]
        self._each(Member.stop, others)
        eventually(lambda: not any(map(jobs_of, others)), timeout_s=GONE_TIMEOUT_S)
        self._hold(member)

    def begin_starts(self) -> None:
        """Let the starters ask, and do not wait for the answers."""
        for member in self.starters:
            self._pool.submit(member.start, RUNNING)

    def wait_for_answers(self) -> None:
        """Wait until every starter was answered, or was not in time."""
        eventually(lambda: all(m.answer for m in self.starters), timeout_s=READY_TIMEOUT_S)

    def start_again(self, members: list[Member], partition: str = RUNNING) -> None:
        """Let users who have no session start one, and wait until they have it."""
        self._each(lambda member: self._start_until_ready(member, partition), members)

    def free_queue(self) -> None:
        """Give the queued their node, and see each of them get his session."""
        empty(WAITING)
        self.start_again(self.queued, WAITING)

    def clear(self) -> None:
        """End the sessions of all but the holders."""
        guests = [*self.starters, *self.queued]
        self._each(Member.stop, guests)
        eventually(lambda: not any(map(jobs_of, guests)), timeout_s=GONE_TIMEOUT_S)
        eventually(lambda: not any(m.server() for m in guests), timeout_s=GONE_TIMEOUT_S)

    def _hold(self, member: Member) -> None:
        if not member.is_ready():
            self._start_until_ready(member, RUNNING)
        if not member.has_variable():
            member.keep_variable()

    def _start_until_ready(self, member: Member, partition: str) -> None:
        if not member.server():
            member.start(partition)
        try:
            eventually(member.is_ready, timeout_s=READY_TIMEOUT_S, every_s=0.5)
        except AssertionError as error:
            error.add_note(f"{member.name} was told {member.answer}; he has {jobs_of(member)}")
            raise

    def _each(self, do: Callable[[Member], None], members: Sequence[Member]) -> None:
        list(self._pool.map(do, members))


def jobs_of(member: Member) -> list[QueuedJob]:
    """Return a user's sessions in squeue."""
    return sessions_of(member.name)


def fill(partition: str) -> None:
    """Take all nodes of a partition."""
    if not output("squeue", "-h", "-n", BLOCKER):
        words = ("--exclusive", "--mem=0", "--chdir=/", "--output=/dev/null", "--time=23:00:00")
        sbatch = ("sbatch", f"--job-name={BLOCKER}", f"--partition={partition}", "--uid=ada")
        # A line for each state that nodes are in.
        n_nodes = sum(map(int, output("sinfo", "-h", "-p", partition, "-o", "%D").split()))
        run(*sbatch, f"--nodes={n_nodes}", *words, "--wrap=exec sleep infinity")
    running = ("squeue", "-h", "-n", BLOCKER, "-t", "RUNNING")
    eventually(lambda: output(*running), timeout_s=60)


def empty(partition: str) -> None:
    """Give the nodes of a partition back."""
    run("scancel", f"--partition={partition}", f"--name={BLOCKER}")


def run(*argv: str) -> str:
    """Run a program and return what it prints."""
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(argv)}: {done.stdout}{done.stderr}")
    return done.stdout.strip()


def output(*argv: str) -> str:
    """Return what a program prints, also if it fails."""
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.strip()
