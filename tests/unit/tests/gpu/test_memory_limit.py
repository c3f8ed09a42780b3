"""The limit of a card's memory is what its data sheet says."""

from __future__ import annotations

import pytest

from tests.gpu.memory_limit import MemoryBus


@pytest.mark.parametrize(
    ("clock_mhz", "n_bits", "data_sheet_gb_per_s"),
    [(877, 4096, 900), (1215, 5120, 1555), (2619, 5120, 3350), (5001, 256, 320)],
    ids=["V100", "A100 40 GB", "H100 SXM", "T4"],
)
def test_the_limit_is_that_of_the_data_sheet(
    clock_mhz: int, n_bits: int, data_sheet_gb_per_s: int
) -> None:
    bus = MemoryBus(clock_mhz=clock_mhz, n_bits=n_bits)

    assert bus.limit_gb_per_s == pytest.approx(data_sheet_gb_per_s, rel=0.005)
