"""What is known of a kernel that has, had or waits for GPUs in a job of its own."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

from dsportal.amounts import count, format_time_left
from portal.server.kernel_jobs.meter import Use
from portal.server.kernel_jobs.move import Home
from portal.server.kernel_jobs.provisioner import SlurmProvisioner
from portal.server.kernel_jobs.request import GpuRequest

# So long pages say that a kernel's job has ended, or what was taken back.
NOTICE_S = 300.0


@dataclass(slots=True, kw_only=True)
class Held:
    """The job of one kernel, for as long as the kernel has it.

    Attributes:
        since_s: Since when, by the monotonic clock.
        ends_at_s: When it reaches its limit, by the same clock; None if not known.
    """

    job: SlurmProvisioner
    request: GpuRequest
    since_s: float = field(default_factory=time.monotonic)
    ends_at_s: float | None = None

    def note_left(self, left_s: int | None) -> None:
        """Note the seconds until its limit, as Slurm says; None if Slurm does not."""
        if left_s is not None:
            self.ends_at_s = time.monotonic() + left_s


@dataclass
class KnownKernel:
    """What is known of one kernel.

    Attributes:
        words: Why it waits, or how the last request or job ended; "" for nothing to say.
        told_s: When `words` were said of a job that has ended.
    """

    home: Home
    asked: GpuRequest | None = None
    words: str = ""
    task: asyncio.Task[None] | None = None
    held: Held | None = None
    told_s: float | None = None
    watch: asyncio.Task[None] | None = None
    # Too late to cancel what is asked.
    is_moving: bool = False
    # When it last did, by the monotonic clock.
    moved_s: float | None = None

    @property
    def n_gpus(self) -> int:
        """The GPUs that it has and waits for."""
        held = self.held.request if self.held else None
        return sum(each.n_gpus for each in (held, self.asked) if each is not None)

    def tell_all(self, words: str, lost: str) -> None:
        """Have all tabs say for a while what has happened, if something is `lost` by it."""
        self.words = f"{words} {lost}".strip() if lost else ""
        self.told_s = time.monotonic() if lost else None

    async def used(self) -> str:
        """Return what its job has used so far, in sentences; "" if that is not known."""
        held = self.held
        use = None if held is None else await asyncio.to_thread(Use.read, held.job.folder)
        return "" if use is None else use.words


def describe(known: KnownKernel | None, of_session: str, gpu: str) -> dict[str, Any]:
    """Return what a page shows of a kernel: `words`, `reason`, `gpus`, `is_waiting`.

    By `is_moving`, and `moved_s`, the seconds since it last has moved, a page knows which cells
    were dropped by that.

    Args:
        known: None for a kernel that never asked.
        of_session: What a kernel without a job has, in words.
        gpu: A GPU, in words.
    """
    held = known.held if known else None
    words = of_session
    if held:
        words = count(held.request.n_gpus, f"{held.request.gpu_type} {gpu}".strip())
    if held and held.ends_at_s is not None:
        words += f", {format_time_left(held.ends_at_s - time.monotonic())} left"
    asked = known.asked if known else None
    moved_s = known.moved_s if known else None
    return {
        "words": words,
        "reason": known.words if known else "",
        "gpus": held.request.n_gpus if held else 0,
        "asked": asked.words if asked else "",
        "is_waiting": asked is not None,
        "is_moving": known is not None and known.is_moving,
        "moved_s": None if moved_s is None else time.monotonic() - moved_s,
    }
