"""What is known of a kernel that has, had or waits for GPUs in a job of its own."""

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dsportal.amounts import count, format_time_left
from portal.server.kernel_jobs.meter import Use
from portal.server.kernel_jobs.move import Home
from portal.server.kernel_jobs.provisioner import SlurmProvisioner
from portal.server.kernel_jobs.request import GpuRequest

# So long pages say that a kernel's job has ended, or what was taken back.
NOTICE_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The GPUs that one kernel has.

    Attributes:
        folder: That of their job.
        job_id: The job; 0 before it is known.
        since_s: Since when, by the monotonic clock.
    """

    folder: Path
    n_gpus: int
    since_s: float
    job_id: int = 0


@dataclass
class KnownKernel:
    """What is known of one kernel.

    Attributes:
        asked: What it waits for, or None.
        words: Why it waits, or how the last request or job ended; "" for nothing to say.
        job: Its job while it has one.
        since_s: Since when it has that, by the monotonic clock.
        ends_at_s: When that reaches its limit, by the monotonic clock; None if not known.
        told_s: When `words` were said of a job that has ended.
    """

    home: Home
    asked: GpuRequest | None = None
    words: str = ""
    task: asyncio.Task[None] | None = None
    job: SlurmProvisioner | None = None
    held: GpuRequest | None = None
    since_s: float = 0.0
    ends_at_s: float | None = None
    told_s: float | None = None
    watch: asyncio.Task[None] | None = None
    # Too late to cancel what is asked.
    is_moving: bool = False
    # When it last did, by the monotonic clock.
    moved_s: float | None = None

    @property
    def n_gpus(self) -> int:
        """The GPUs that it has and waits for."""
        return sum(each.n_gpus for each in (self.held, self.asked) if each is not None)

    def tell_all(self, words: str, lost: str) -> None:
        """Have all tabs say for a while what has happened, if something is `lost` by it."""
        self.words = f"{words} {lost}".strip() if lost else ""
        self.told_s = time.monotonic() if lost else None

    async def used(self) -> str:
        """Return what its job has used so far, in sentences; "" if that is not known."""
        use = None if self.job is None else await asyncio.to_thread(Use.read, self.job.folder)
        return "" if use is None else use.words

    def gpus(self) -> Held | None:
        """Return the GPUs of its job."""
        if self.job is None or self.held is None:
            return None
        return Held(
            folder=self.job.folder,
            n_gpus=self.held.n_gpus,
            since_s=self.since_s,
            job_id=self.job.job_id or 0,
        )


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
        words = count(held.n_gpus, f"{held.gpu_type} {gpu}".strip())
    if known and held and known.ends_at_s is not None:
        words += f", {format_time_left(known.ends_at_s - time.monotonic())} left"
    asked = known.asked if known else None
    moved_s = known.moved_s if known else None
    return {
        "words": words,
        "reason": known.words if known else "",
        "gpus": held.n_gpus if held else 0,
        "asked": asked.words if asked else "",
        "is_waiting": asked is not None,
        "is_moving": known is not None and known.is_moving,
        "moved_s": None if moved_s is None else time.monotonic() - moved_s,
    }
