"""What a part of the suite works with: the device, sizes, time, and how something is timed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from tests.lab.gpu.findings import FindingsFile

MIB = 1 << 20


class OutOfTimeError(Exception):
    """The part's time does not last for another measurement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How large everything is.

    Attributes:
        round_s: Length of a round, at least one step, in seconds.
        batch: Images of a batch; None for each network's own.
        load_s: How long the GPU is kept busy while it is read.
    """

    n_rounds: int
    round_s: float
    width: float
    batch: int | None
    matrix: int
    copy_mib: int
    n_jpegs: int
    epoch_s: float
    load_s: float


FULL = Sizes(
    n_rounds=5,
    round_s=0.5,
    width=1.0,
    batch=None,
    matrix=8192,
    copy_mib=1024,
    n_jpegs=400,
    epoch_s=8.0,
    load_s=6.0,
)
# Long enough to run every line on two busy cores, and nothing to learn from.
TINY = Sizes(
    n_rounds=1,
    round_s=0.0,
    width=1 / 16,
    batch=2,
    matrix=64,
    copy_mib=1,
    n_jpegs=6,
    epoch_s=0.1,
    load_s=0.2,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What a part is given.

    Attributes:
        device: "cuda", or "cpu" to try the suite itself.
        folder: An empty folder.
    """

    device: str
    sizes: Sizes
    folder: Path
    found: FindingsFile
    ends_s: float

    @property
    def is_gpu(self) -> bool:
        return self.device == "cuda"

    @property
    def left_s(self) -> float:
        return self.ends_s - time.monotonic()

    @property
    def device_words(self) -> str:
        return "GPU" if self.is_gpu else "CPU"

    def wait(self) -> None:
        """Return when the GPU has done all that it was given."""
        if self.is_gpu:
            torch.cuda.synchronize()

    def slurm_time_s(self, step: Callable[[], object], n_times: int = 1) -> float:
        """Return the seconds of one of several steps, the GPU's work included."""
        self.wait()
        began_s = time.perf_counter()
        for _ in range(n_times):
            step()
        self.wait()
        return (time.perf_counter() - began_s) / n_times

    def rounds(self, step: Callable[[], object], round_s: float | None = None) -> list[float]:
        """Return the seconds of a step, one number for each round.

        The first two steps, in which libraries choose their kernels, are not counted.
        """
        round_s = self.sizes.round_s if round_s is None else round_s
        self.slurm_time_s(step)
        step_s = self.slurm_time_s(step)
        n_steps = max(1, round(round_s / max(step_s, 1e-6)))
        n_rounds = min(self.sizes.n_rounds, int(self.left_s / (n_steps * step_s)))
        if n_rounds < 1:
            raise OutOfTimeError
        return [self.slurm_time_s(step, n_steps) for _ in range(n_rounds)]
