"""What a card's memory could move at most, from the clock and the bus that NVML tells."""

from __future__ import annotations

import contextlib
import importlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBus:
    """The memory of a card."""

    clock_mhz: int
    n_bits: int

    @property
    def limit_gb_per_s(self) -> float:
        """10^9 bytes/s: two transfers a clock, as NVML counts the clock of HBM and of GDDR."""
        return 2 * self.clock_mhz * 1e6 * self.n_bits / 8 / 1e9


def read_memory_bus(uuid: str) -> MemoryBus | None:
    """Ask NVML about a GPU, such as "GPU-1b3c..."; None if it does not say it."""
    try:
        nvml: Any = importlib.import_module("pynvml")
    except ImportError:
        return None
    # Older versions of the module do not have the width.
    with contextlib.suppress(nvml.NVMLError, AttributeError):
        nvml.nvmlInit()
        handle = nvml.nvmlDeviceGetHandleByUUID(uuid)
        return MemoryBus(
            clock_mhz=nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_MEM),
            n_bits=nvml.nvmlDeviceGetMemoryBusWidth(handle),
        )
    return None
