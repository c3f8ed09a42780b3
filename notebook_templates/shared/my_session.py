"""What this session has, in words and as a picture."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from charts import panels

from dsportal.slurm.session import SessionAllocation, read_session

_GIB = 2**30


@dataclass(frozen=True)
class Storage:
    """A place for files.

    Attributes:
        name: What users call it.
        path: Where it is.
        free_bytes: What can still be written there.
        total_bytes: What it holds in all.
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
        ("node", Path("/tmp"), "copies for speed; gone after the session"),  # noqa: S108
    )
    found = []
    for name, path, use in places:
        if path.is_dir():
            usage = shutil.disk_usage(path)
            found.append(Storage(name, path, usage.free, usage.total, use))
    return found


def time_and_memory(session: SessionAllocation) -> tuple[str, str]:
    """Return how long the session goes on, and the memory that it has.

    Args:
        session: The session.

    Returns:
        Slurm's words, such as "7:41:12" or "1-02:00:00", and "96G"; "unknown" where it says none.

    Source:
        squeue(1), --Format, fields TimeLeft and tres-alloc, Slurm 22.05.
    """
    fields = "--Format=TimeLeft:30,tres-alloc:200"
    argv = ["squeue", "--noheader", f"--jobs={session.job_id}", fields]
    try:
        asked = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown", "unknown"
    left, _, resources = asked.stdout.strip().partition(" ")
    memory = re.search(r"\bmem=([^,]+)", resources)
    return left or "unknown", memory[1] if memory else "unknown"


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
    for place in list_storage():
        print(f"{place.name:10} {place.free_bytes / _GIB:,.0f} GiB free: {place.use}")


def _gpu_names(session: SessionAllocation) -> str:
    argv = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        asked = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return str(session.n_gpus)
    names = sorted(set(asked.stdout.strip().splitlines()))
    return f"{session.n_gpus}: {', '.join(names)}" if names else str(session.n_gpus)


def draw_storage() -> None:
    """Draw how full each place is."""
    places = list_storage()
    axis = panels(1, height=0.5 + 0.45 * len(places))[0]
    names = [place.name for place in places]
    used = [1 - place.free_bytes / place.total_bytes for place in places]
    axis.barh(names, [1] * len(names), color="#e4e8ec", height=0.6)
    bars = axis.barh(names, used, color="#0b6bcb", height=0.6)
    words = [
        f"{share:.0%} of {place.total_bytes / _GIB:,.0f} GiB used"
        for share, place in zip(used, places, strict=True)
    ]
    axis.bar_label(bars, words, padding=6)
    axis.invert_yaxis()
    axis.set_xlim(0, 1)
    axis.set_xticks([])
    axis.tick_params(axis="y", length=0)
    axis.spines[:].set_visible(False)
