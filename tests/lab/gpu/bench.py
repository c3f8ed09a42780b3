"""What a part of the suite works with: the device, sizes and time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import torch

from tests.lab.gpu.findings import FindingsFile

MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How large everything is.

    Attributes:
        width: Of the network's layers.
        load_s: How long the GPU is kept busy while it is read.
    """

    width: float
    matrix: int
    load_s: float


# Matrices whose products keep every multiprocessor busy.
FULL = Sizes(width=1.0, matrix=4096, load_s=6.0)
# Long enough to run every line on two busy cores, and nothing to learn from.
TINY = Sizes(width=1 / 16, matrix=64, load_s=0.2)


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

    def wait(self) -> None:
        """Return when the GPU has done all that it was given."""
        if self.is_gpu:
            torch.cuda.synchronize()
