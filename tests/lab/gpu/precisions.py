"""The number formats in which a network is trained."""

from __future__ import annotations

import contextlib
from enum import Enum

import torch


class Precision(Enum):
    """A number format."""

    FP32 = "FP32"
    TF32 = "TF32"
    FP16 = "FP16"
    BF16 = "BF16"

    @property
    def is_half(self) -> bool:
        return self in {Precision.FP16, Precision.BF16}

    @property
    def dtype(self) -> torch.dtype:
        halves = {Precision.FP16: torch.float16, Precision.BF16: torch.bfloat16}
        return halves.get(self, torch.float32)

    @property
    def words(self) -> str:
        """How it is computed, for labels."""
        return {
            Precision.FP32: "FP32 with TF32 off",
            Precision.TF32: "FP32 values with TF32 products",
            Precision.FP16: "FP16 by autocast with a scaled loss, channels last",
            Precision.BF16: "BF16 by autocast, channels last",
        }[self]

    def why_not(self, device: str) -> str | None:
        """Return why a card does not have it, or None."""
        # CPUs only try the suite itself: there, TF32 is FP32.
        is_old = device == "cuda" and torch.cuda.get_device_capability() < (8, 0)
        if is_old and self in {Precision.TF32, Precision.BF16}:
            return f"cards before compute capability 8.0 have no {self.value}"
        return None

    def apply(self) -> None:
        """Let products of FP32 values be computed in this way."""
        allow_tf32(self is Precision.TF32)

    def autocast(self, device: str) -> contextlib.AbstractContextManager[object]:
        if self.is_half:
            return torch.autocast(device, dtype=self.dtype)
        return contextlib.nullcontext()


def allow_tf32(is_allowed: bool) -> None:
    """Let products of FP32 values be computed with TF32, or not."""
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    # Since PyTorch 2.9; it refuses a mixture of the old settings and the new.
    if hasattr(matmul, "fp32_precision") and hasattr(cudnn, "conv"):
        matmul.fp32_precision = cudnn.conv.fp32_precision = "tf32" if is_allowed else "ieee"
    else:
        matmul.allow_tf32 = cudnn.allow_tf32 = is_allowed
