"""What this session has, in words."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from dsportal.amounts import format_time_left
from dsportal.launch.session import SessionAllocation, read_session
from dsportal.slurm.units import parse_time_left

_GIB = 2**30


@dataclass(frozen=True)
class Storage:
    """A place for files.

    Attributes:
        name: What users call it.
        path: Where it is.
        free_bytes: What can still be written there.
        total_bytes: What its users can fill: less than the disk if the system keeps a reserve.
        use: What it is for.
    """

    name: str
    path: Path
    free_bytes: int
    total_bytes: int
    use: str


def shared_storage() -> dict[str, Path]:
    """Return the links in the home to the site's shared storage, by name.

    Returns:
        What the site's settings say; outside a session, `isilon`.
    """
    names = json.loads(os.environ.get("PORTAL_STORAGE") or '{"isilon": ""}')
    return {name: Path.home() / name for name in names}


def list_storage() -> list[Storage]:
    """Return the places for files that this session has.

    Returns:
        Home, the shared storage and the node's own disk, as far as they are there.
    """
    shared = (
        (name, path, "data sets and large results, on every node; kept")
        for name, path in shared_storage().items()
    )
    places = (
        ("home", Path.home(), "notebooks, code, checkpoints; kept"),
        *shared,
        ("local disk", Path("/tmp"), "copies for speed; gone after the session"),  # noqa: S108
    )
    found = []
    for name, path, use in places:
        if path.is_dir():
            usage = shutil.disk_usage(path)
            found.append(Storage(name, path, usage.free, usage.used + usage.free, use))
    return found


def time_and_memory(session: SessionAllocation) -> tuple[str, str]:
    """Return how long the session continues, and the memory that it has.

    Args:
        session: The session.

    Returns:
        The time as the status bar shows it, such as "7 h 41 min", and "96 GB", in units of 1,024
        as everywhere in the portal, or "96 GB, 23.5 GB of it real" if Slurm was told of more than
        the node has; "unknown" if Slurm says none.

    Source:
        squeue(1), --Format, fields TimeLeft and tres-alloc, Slurm 22.05.
    """
    fields = "--Format=TimeLeft:30,tres-alloc:200"
    argv = ["squeue", "--noheader", f"--jobs={session.job_id}", fields]
    try:
        asked = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown", "unknown"
    time_left, _, resources = asked.stdout.strip().partition(" ")
    left_s = parse_time_left(time_left)
    left = format_time_left(left_s) if left_s is not None else time_left.lower()
    memory = re.search(r"\bmem=([\d.]+)([KMGT]?)", resources)
    if memory is None:
        return left or "unknown", "unknown"
    # Slurm's units are powers of 1,024.
    mib = float(memory[1]) * {"K": 1 / 1024, "G": 1024, "T": 1024**2}.get(memory[2], 1)
    real_mib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**20
    real = f", {_memory_words(real_mib)} of it real" if real_mib < mib else ""
    return left or "unknown", _memory_words(mib) + real


def _memory_words(mib: float) -> str:
    return f"{round(mib / 1024, 1):,g} GB" if mib >= 1024 else f"{mib:,.0f} MB"


def print_session() -> None:
    """Print what the session has."""
    session = read_session(os.environ)
    gpus = f"{session.n_gpus} simulated" if session.simulated_gpus else _gpu_names(session)
    here = session.n_usable_cores
    cores = str(session.n_cores) + (f", {here} of them real" if here < session.n_cores else "")
    left, memory = time_and_memory(session)
    rows = {
        "node": f"{session.node}, Slurm job {session.job_id}",
        "GPUs": gpus,
        "cores": cores,
        "memory": memory,
        "time left": left,
    }
    for name, value in rows.items():
        print(f"{name:10} {value}")


def _gpu_names(session: SessionAllocation) -> str:
    argv = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        asked = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return str(session.n_gpus)
    names = sorted(set(asked.stdout.strip().splitlines()))
    return f"{session.n_gpus}: {', '.join(names)}" if names else str(session.n_gpus)


def print_storage() -> None:
    """Print how much can be written to each place, and what it is for."""
    for place in list_storage():
        free = f"{place.free_bytes / _GIB:,.0f} of {place.total_bytes / _GIB:,.0f} GB free"
        print(f"{place.name:10} {free:>26}: {place.use}")
