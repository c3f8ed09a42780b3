"""What nvidia-smi prints, and which driver which CUDA needs.

The texts in `golden` are written after nvidia-smi(1); they were not captured on a GPU.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from portal.site.checks.nvidia import is_too_old, needed_driver, parse_gpus, parse_version, to_text

GOLDEN = Path(__file__).parents[1] / "golden"


def test_each_gpu_has_its_name_its_memory_and_the_driver() -> None:
    gpus = parse_gpus((GOLDEN / "nvidia-smi-v100.csv").read_text())

    assert [gpu.name for gpu in gpus] == ["Tesla V100-SXM2-32GB"] * 2
    assert gpus[0].driver == "570.86.15"
    assert gpus[0].memory_mib == 32768


def test_warnings_between_the_lines_and_what_the_driver_does_not_say_are_no_faults() -> None:
    (gpu,) = parse_gpus((GOLDEN / "nvidia-smi-old.csv").read_text())

    assert gpu.driver == "470.256.02"
    assert gpu.memory_mib is None


def test_what_says_that_it_failed_lists_no_gpu() -> None:
    assert parse_gpus((GOLDEN / "nvidia-smi-mismatch.txt").read_text()) == ()
    assert parse_gpus("") == ()


@pytest.mark.parametrize(
    ("driver", "cuda", "is_old"),
    [
        ("570.86.15", "12.8", False),
        ("525.60.13", "12.8", False),
        ("470.256.02", "12.8", True),
        ("570.86.15", "13.0", True),
        ("580", "13.0", False),
        ("470.256.02", "10.2", False),
        ("", "12.8", False),
        ("570.86.15", "", False),
    ],
)
def test_a_driver_is_compared_with_the_least_that_cuda_needs(
    driver: str, cuda: str, is_old: bool
) -> None:
    assert is_too_old(driver, cuda) is is_old


def test_versions_are_written_as_people_write_them() -> None:
    assert to_text(parse_version("570.86.15")) == "570.86.15"
    assert to_text(needed_driver("13.1")) == "580"
