"""Slurm's answers about the whole cluster, which several hubs share: one asks, the others read."""

import asyncio
import contextlib
import fcntl
import hashlib
import json
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

from dsportal.whole_file import write_whole
from spawner.client.command import Completed
from spawner.client.visibility import CONFIG_ARGV
from spawner.slurm.associations import QOS_ARGV, USERS_ARGV
from spawner.slurm.budgets import ASSOC_MGR_ARGV, FACTORS_ARGV, PARTITIONS_ARGV
from spawner.slurm.catalog import SINFO_ARGV
from spawner.slurm.cluster_jobs import CLUSTER_JOBS, CLUSTER_JOBS_STATES
from spawner.slurm.scontrol import RESERVATIONS_ARGV
from spawner.slurm.squeue import GPUS_IN_USE_ARGV, QUEUE

# Of `new_nonce`; no two commands have the same.
_NONCE = re.compile(r"m[0-9a-f]{16}", re.ASCII)
_ANY = "NONCE"
# Seconds for which a hub keeps an answer, and others may have it from there.
# What accounting says of a user. sacct took 0.1 s, the slowest of the queries (Slurm 22.05), and
# its database serves the site.
ACCOUNTING_AGE_S = 300.0
# An administrator may fix what these say, and the next start should notice.
RESERVATIONS_AGE_S = 60.0
# What is left of budgets; slurmctld itself adds up use every few minutes.
BUDGETS_AGE_S = 30.0
# The cluster page's list of jobs.
JOBS_AGE_S = 15.0
# GPUs in use, which explain the wait for a limit; a new session has its number in time.
GPUS_IN_USE_AGE_S = 10.0
# The commands whose answers are shared. None is about a hub's own sessions.
SHARED_S: dict[tuple[str, ...], float] = {
    SINFO_ARGV: 5.0,
    GPUS_IN_USE_ARGV: GPUS_IN_USE_AGE_S,
    ("squeue", "--all", "--states=PENDING", *QUEUE.options(_ANY)): 15.0,
    ("squeue", "--all", CLUSTER_JOBS_STATES, *CLUSTER_JOBS.options(_ANY)): JOBS_AGE_S,
    **dict.fromkeys((ASSOC_MGR_ARGV, FACTORS_ARGV, PARTITIONS_ARGV, CONFIG_ARGV), BUDGETS_AGE_S),
    RESERVATIONS_ARGV: RESERVATIONS_AGE_S,
    **dict.fromkeys((USERS_ARGV, QOS_ARGV), ACCOUNTING_AGE_S),
}
# For so long one hub waits while another one asks; then it asks by itself.
_PATIENCE_S = 1.0
_LOOK_S = 0.05


class SharedAnswers:
    """Asks Slurm, or reads what another hub of the same account was told.

    Only commands of `SHARED_S` are shared: no answer of another hub ends a session. A file that is
    too old, or cannot be read or written, is as none.

    Args:
        folder: Only the hubs' account reads and writes it.
        ask: Runs a command; raises `SlurmError` if it fails.
    """

    def __init__(
        self,
        folder: Path,
        ask: Callable[[Sequence[str]], Awaitable[Completed]],
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._folder = folder
        self._ask = ask
        self._clock = clock

    async def query(self, argv: Sequence[str]) -> Completed:
        """Return the answer to a command that changes nothing; fails as asking does."""
        nonce = next((found[0] for word in argv if (found := _NONCE.search(word))), _ANY)
        words = tuple(word.replace(nonce, _ANY) for word in argv)
        # Without the name of a cluster, which stands behind.
        fresh_s = SHARED_S.get(words, SHARED_S.get(words[:-1]))
        if fresh_s is None:
            return await self._ask(argv)
        path = self._folder / hashlib.sha256("\0".join(words).encode()).hexdigest()[:32]
        gives_up_at = time.monotonic() + _PATIENCE_S
        while True:
            with _lock(path) as is_free:
                # Also after a wait for the other hub, which has written.
                kept = await asyncio.to_thread(self._read, path, fresh_s, nonce)
                if kept is not None:
                    return Completed(exit_code=0, stdout=kept, stderr="")
                if is_free or time.monotonic() >= gives_up_at:
                    asked_at = self._clock()
                    done = await self._ask(argv)
                    await asyncio.to_thread(self._write, path, asked_at, nonce, done.stdout)
                    return done
            await asyncio.sleep(_LOOK_S)

    def _read(self, path: Path, fresh_s: float, nonce: str) -> str | None:
        try:
            head, _, stdout = path.read_bytes().decode().partition("\n")
            about = json.loads(head)
            if not 0 <= self._clock() - float(about["asked_at"]) < fresh_s:
                return None
            # No text of a user holds either: nobody knew them when Slurm printed this.
            return stdout.replace(str(about["nonce"]), nonce)
        except (OSError, ValueError, LookupError, TypeError):
            return None

    def _write(self, path: Path, asked_at: float, nonce: str, stdout: str) -> None:
        head = json.dumps({"asked_at": asked_at, "nonce": nonce})
        with contextlib.suppress(OSError):
            write_whole(path, f"{head}\n{stdout}".encode(), mode=0o600)


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[bool]:
    """Yield whether no other hub asks now; True also where there are no locks."""
    with contextlib.ExitStack() as stack:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = stack.enter_context(path.with_suffix(".lock").open("w"))
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_free = True
        except OSError as error:
            is_free = not isinstance(error, BlockingIOError)
        yield is_free
