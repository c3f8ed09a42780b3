"""What a part of the suite works with: the device, a folder, and where it says what it finds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

MIB = 1 << 20


@dataclass(slots=True, kw_only=True)
class Bench:
    """What a part is given; each finding is printed at once, so that it stays whatever follows.

    Attributes:
        device: "cuda", or "cpu" to try the suite itself.
        folder: An empty folder.
    """

    device: str
    folder: Path
    n_checks: int = 0
    n_failed: int = 0
    n_untried: int = 0

    @property
    def is_gpu(self) -> bool:
        return self.device == "cuda"

    def fact(self, name: str, value: object) -> None:
        print(f"{name}: {value}", flush=True)

    def check(self, sentence: str, passed: bool, detail: object = "") -> None:
        self.n_checks += 1
        self.n_failed += not passed
        print(f"yes  {sentence}" if passed else f"NO   {sentence}: {detail}", flush=True)

    def untried(self, what: str, why: object) -> None:
        self.n_untried += 1
        print(f"not tried: {what}: {why}", flush=True)

    def wait(self) -> None:
        """Return when the GPU has done all that it was given."""
        if self.is_gpu:
            torch.cuda.synchronize()
