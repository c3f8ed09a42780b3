"""NVIDIA's driver: the output of nvidia-smi, and which driver a CUDA version needs."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass

Version = tuple[int, ...]

# The columns that `parse_gpus` reads; older drivers refuse the whole question for an unknown one.
NVIDIA_SMI_ARGV = (
    "nvidia-smi",
    "--query-gpu=index,uuid,name,driver_version,memory.total",
    "--format=csv,noheader,nounits",
)
_N_COLUMNS = 5
# The oldest driver of each major version of CUDA, on Linux; a minor version needs no newer one.
# Source: docs.nvidia.com/deploy/cuda-compatibility, "Minor Version Compatibility", table 1.
MINIMUM_DRIVERS: dict[int, Version] = {11: (450,), 12: (525,), 13: (580,)}
_VERSION = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,6}){0,3}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class NvidiaGpu:
    """One GPU as nvidia-smi lists it.

    Attributes:
        uuid: NVIDIA's own name of this one GPU.
        driver: Version of the driver, such as "570.86.15".
        memory_mib: None if the driver does not say.
    """

    uuid: str
    name: str
    driver: str
    memory_mib: int | None


def parse_version(text: str) -> Version:
    """Return the numbers of a version such as "570.86.15"; empty if it is no version."""
    found = _VERSION.match(text.strip())
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def parse_gpus(text: str) -> tuple[NvidiaGpu, ...]:
    """Return the GPUs in the output of `NVIDIA_SMI_ARGV`, in its order.

    A line of another form, such as a warning, is skipped.

    Source:
        nvidia-smi(1), --query-gpu and --format.
    """
    # nvidia-smi writes a blank behind each comma.
    rows = csv.reader(text.splitlines(), skipinitialspace=True)
    return tuple(
        NvidiaGpu(
            uuid=row[1].strip(),
            name=row[2].strip(),
            driver=row[3].strip(),
            memory_mib=int(row[4]) if row[4].strip().isdecimal() else None,
        )
        for row in rows
        if len(row) == _N_COLUMNS and row[1].startswith("GPU-")
    )


def needed_driver(cuda: str) -> Version:
    """Return the oldest driver for programs built for a CUDA version, such as "12.8".

    Returns:
        Empty if the table does not have that CUDA.
    """
    # A CUDA that the table does not know yet gives no false alarm.
    return MINIMUM_DRIVERS.get((parse_version(cuda) or (0,))[0], ())


def is_too_old(driver: str, cuda: str) -> bool:
    """Return whether a driver cannot run programs built for a CUDA version.

    Args:
        driver: Such as "570.86.15"; empty if unknown.
        cuda: Such as "12.8".

    Returns:
        False if one of them is unknown.
    """
    version = parse_version(driver)
    return bool(version) and version < needed_driver(cuda)


def to_text(version: Version) -> str:
    """Return a version as people write it."""
    return ".".join(str(number) for number in version)
