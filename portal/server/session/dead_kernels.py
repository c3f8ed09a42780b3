"""Says in words why a kernel has died, in place of JupyterLab's dialog, which only says that."""

import asyncio
import logging
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from portal.server.base.cgroup import Source
from portal.server.base.kernel_listener import Death, KernelListener, Published

NOTICE_S = 300.0
_REASONS: Mapping[int, str] = {
    signal.SIGABRT: "aborted (SIGABRT), as compiled code does when it cannot continue",
    signal.SIGBUS: "crashed in compiled code (SIGBUS)",
    signal.SIGFPE: "crashed in compiled code (SIGFPE)",
    signal.SIGILL: (
        "was stopped at an instruction that this node's processor lacks (SIGILL); a package was "
        "compiled for another processor"
    ),
    signal.SIGINT: "was ended by SIGINT",
    signal.SIGSEGV: "crashed in compiled code, such as that of a package (SIGSEGV)",
    signal.SIGTERM: "was ended by SIGTERM",
}
_KILLED = "was killed (SIGKILL), most often because memory was full"
_OUT_OF_MEMORY = "was killed because the session's memory was full"
_SAVE_MEMORY = (
    "Use smaller batches, shut down kernels that you do not need, or start a session with more "
    "memory."
)
_JOB_OUT_OF_MEMORY = "was killed because the memory of its job was full"
_SAVE_MEMORY_OF_JOB = (
    "Use smaller batches, load less data at a time, or ask for more GPUs, since memory comes with "
    "them."
)
_RESTARTED = "It has been restarted, and its memory is lost."
_GIVEN_UP = "It died again each time it was restarted. To try once more: Kernel, Restart Kernel."


@dataclass(frozen=True, slots=True)
class _Notice:
    sentence: str
    began_s: float
    n_deaths: int
    is_over: bool = False


class DeadKernels:
    """Remembers kernels of the session that have died in the last five minutes.

    Args:
        source: Counts processes that were killed for want of memory.
        notebook_of: Returns the path of the notebook of a kernel's id, or "".
        clock: Seconds of a clock that only goes forward.
    """

    def __init__(
        self,
        source: Source,
        notebook_of: Callable[[str], Awaitable[str]],
        log: logging.Logger,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._n_killed = self._count_killed()
        self._notebook_of = notebook_of
        self._log = log
        self._clock = clock
        self._notices: dict[str, _Notice] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def notices(self) -> list[str]:
        """Return a sentence or two for each kernel that has died lately and not been used since."""
        oldest_s = self._clock() - NOTICE_S
        self._notices = {k: n for k, n in self._notices.items() if n.began_s > oldest_s}
        return [notice.sentence for notice in self._notices.values() if not notice.is_over]

    def listen(self, listener: KernelListener) -> None:
        """Hear of all deaths from now on."""
        listener.on_death(self._note_soon)
        listener.on_message(self.take)

    def take(self, message: Published) -> None:
        """Hear of a cell that a kernel runs again: its notice has served."""
        notice = self._notices.get(message.kernel_id)
        if notice and message.kind == "execute_input":
            self._notices[message.kernel_id] = replace(notice, is_over=True)

    def _note_soon(self, death: Death) -> None:
        task = asyncio.get_running_loop().create_task(self.note(death))
        # The loop itself keeps no reference.
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def note(self, death: Death) -> None:
        """Note the death of a kernel."""
        kernel_id = death.kernel_id
        n_killed = self._count_killed()
        is_out_of_memory = n_killed > self._n_killed
        self._n_killed = n_killed
        last = self._notices.get(kernel_id)
        n_deaths = last.n_deaths + 1 if last and last.began_s > self._clock() - NOTICE_S else 1
        sentence = describe_death(
            await self._notebook_of(kernel_id),
            death,
            is_out_of_memory=is_out_of_memory,
            n_deaths=n_deaths,
        )
        self._log.warning("%s", sentence)
        self._notices[kernel_id] = _Notice(sentence, self._clock(), n_deaths)

    def _count_killed(self) -> int:
        try:
            return self._source.n_killed_for_memory()
        except (OSError, ValueError):
            return 0


def describe_death(
    notebook: str,
    death: Death,
    *,
    is_out_of_memory: bool,
    n_deaths: int = 1,
) -> str:
    """Return what the user is told about a kernel that has died.

    Args:
        notebook: Path of its notebook, or "".
        is_out_of_memory: Whether a process of the session has been killed for want of memory.
        n_deaths: Times that it has died lately, this one included.
    """
    name = PurePosixPath(notebook).name
    subject = f"The kernel of {name}" if name else "A kernel of this session"
    has_job = death.is_out_of_memory is not None
    memory = _SAVE_MEMORY_OF_JOB if has_job else _SAVE_MEMORY
    advice = [memory] if death.status == -signal.SIGKILL else []
    times = [f"It has died {n_deaths} times in a few minutes."] if n_deaths > 1 else []
    end = _RESTARTED if death.is_restarted else _GIVEN_UP
    full = ""
    if death.is_out_of_memory:
        full = _JOB_OUT_OF_MEMORY
    elif is_out_of_memory and not has_job:
        full = _OUT_OF_MEMORY
    return " ".join([f"{subject} {_reason(death.status, full)}.", *times, *advice, end])


def _reason(status: int | None, full: str) -> str:
    if status is None:
        return "has died"
    if status >= 0:
        return f"ended by itself with exit status {status}"
    if status == -signal.SIGKILL:
        return full or _KILLED
    return _REASONS.get(-status, f"was ended by signal {-status}")
