"""GPUs of kernels on the running portal, beside sessions with GPUs and local kernels.

    python -m tests.lab.benchmarks.lend.measure --rounds 5

It runs on the one-machine portal, whose GPUs are simulated. `--only days` needs no portal: it
simulates the days, which no other program disturbs.
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from portal.settings.idle import IdleSettings
from tests.lab.benchmarks.lend.day import (
    NEVER_USED_SHARE,
    draw_people,
    with_gpus_of_kernels,
    with_sessions_that_hold_gpus,
)
from tests.lab.benchmarks.machine import read_busy_share
from tests.lab.benchmarks.report import LEAST_ROUNDS, Table, write_report
from tests.lab.benchmarks.rounds import Rounds
from tests.lab.benchmarks.variables.measure import time_arrays
from tests.sessions.test_kernel_gpus import Session
from tests.support.kernels import ask, connect, run_over
from tests.support.websockets import close_websocket

N_CELLS = 100
OUTPUT_MB = 20
_LINE = "x" * 9_999
AFTER_MIN, WARNING_MIN = 30, 15
SHARES = (NEVER_USED_SHARE, 0.5, 0.3, 0.0)
WORDS: Mapping[str, str] = {
    "first_use_s": "from `%gpu 1` to the first answer of the kernel with the GPU",
    "session_start_s": "from the request of a session with a GPU until it is ready",
    "first_use_vs_session_start": "one over the other, round by round",
    "empty_cell_ms": "round trip of an empty cell of a kernel in a job of its own, by websocket",
    "empty_cell_local_ms": "the same of a kernel in the session, in turns",
    "kernel_latency_ratio": "one over the other, round by round",
    "output_mb_s": f"{OUTPUT_MB} MB of printed lines from a kernel in a job of its own",
    "output_local_mb_s": "the same from a kernel in the session, in turns",
    "kernel_output_ratio": "time of one over that of the other, round by round",
    "save_s_per_gb": "seconds to save 1 GB of arrays, to a local disk",
    "restore_s_per_gb": "seconds to restore them",
    "gpu_hours_saved_percent": "of a simulated day: GPU hours that nobody holds, at the same work",
    "gpu_hours_saved_if_all_train_percent": "the same if everybody trains all day",
}


def measure_starts(n_rounds: int) -> dict[str, Rounds]:
    """Return seconds of the first use of a GPU, and of the start of a session with one."""
    first, start = [], []
    for _ in range(n_rounds):
        session = Session()
        began_s = time.monotonic()
        session.run("%gpu 1 --hours 0.5")
        session.has(1)
        session.run("1")
        first.append(time.monotonic() - began_s)
        session.client.stop(session.token)
        began_s = time.monotonic()
        session.client.start(session.token, gpus=1)
        start.append(time.monotonic() - began_s)
        session.client.stop(session.token)
    return {"first_use_s": Rounds(first, 2), "session_start_s": Rounds(start, 2)}


def measure_kernels(n_rounds: int) -> dict[str, Rounds]:
    """Return round trips in ms and MB/s of a kernel in a job of its own and of a local one."""
    session = Session()
    local = ask(session, "POST", "api/kernels", json={"name": "python3"})["id"]
    session.run("%gpu 1 --hours 0.5")
    session.has(1)
    found: dict[str, list[float]] = {}
    for _ in range(n_rounds):
        for kernel, suffix in ((session.kernel, ""), (local, "_local")):
            trip_ms, mb_s = asyncio.run(_measure_kernel(session, kernel))
            found.setdefault(f"empty_cell{suffix}_ms", []).append(trip_ms)
            found.setdefault(f"output{suffix}_mb_s", []).append(mb_s)
    session.client.stop(session.token)
    return {name: Rounds(values, 2) for name, values in found.items()}


def measure_arrays(n_rounds: int) -> dict[str, Rounds]:
    """Return seconds of saving and restoring 1 GB."""
    times = []
    for _ in range(n_rounds):
        with TemporaryDirectory() as folder:
            times.append(time_arrays(Path(folder)))
    saves, restores = zip(*times, strict=True)
    return {"save_s_per_gb": Rounds(saves, 2), "restore_s_per_gb": Rounds(restores, 2)}


async def _measure_kernel(session: Session, kernel: str) -> tuple[float, float]:
    socket = await connect(session, kernel)
    await run_over(socket, f"line = {_LINE!r}")
    trips = []
    for _ in range(N_CELLS):
        began_s = time.monotonic()
        await run_over(socket, "")
        trips.append(time.monotonic() - began_s)
    n_lines = OUTPUT_MB * 100
    began_s = time.monotonic()
    await run_over(socket, f"for _ in range({n_lines}): print(line)")
    mb_s = OUTPUT_MB / (time.monotonic() - began_s)
    await close_websocket(socket)
    return 1000 * statistics.median(trips), mb_s


def simulate(n_days: int) -> tuple[dict[float, Rounds], Table]:
    """Return the percent saved on simulated days by the share of people who never train."""
    policy = IdleSettings(
        after_minutes=AFTER_MIN, warning_minutes=WARNING_MIN, gpu_percent=5, cpu_percent=5
    )
    saved, rows = {}, []
    for share in SHARES:
        days = []
        for seed in range(n_days):
            people = draw_people(seed, never_used_share=share)
            without = with_sessions_that_hold_gpus(people)
            days.append((without, with_gpus_of_kernels(people, policy)))
        saved[share] = Rounds([100 * (1 - b.held_h / a.held_h) for a, b in days])
        middle = [_median(days, of) for of in ("held_h", "used_h", "n_asked")]
        rows.append((f"{share:.0%}", *(x for pair in middle for x in pair), saved[share].text))
    columns = ("never train", "held, h", "with", "used, h", "with", "asked", "with", "saved, %")
    return saved, Table(title="Simulated days, medians", columns=columns, rows=rows)


def _median(days: Sequence[tuple[Any, Any]], name: str) -> tuple[float, float]:
    of = [[getattr(day, name) for day in side] for side in zip(*days, strict=True)]
    return round(statistics.median(of[0]), 1), round(statistics.median(of[1]), 1)


def measure(n_rounds: int) -> tuple[dict[str, Rounds], list[str]]:
    """Return all that the running portal has to be there for, and notes."""
    busy = read_busy_share()
    found = measure_starts(n_rounds) | measure_kernels(n_rounds) | measure_arrays(n_rounds)
    found["first_use_vs_session_start"] = found["first_use_s"].over(found["session_start_s"])
    found["kernel_latency_ratio"] = found["empty_cell_ms"].over(found["empty_cell_local_ms"])
    found["kernel_output_ratio"] = found["output_local_mb_s"].over(found["output_mb_s"])
    return found, [
        f"Before the first round other programs used {busy:.0%} of the processor.",
        "Both starts end with a job of Slurm's that runs. That of a session also starts its "
        "notebook server, that of a kernel only the kernel.",
    ]


def main() -> None:
    """Measure, and write the report."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=LEAST_ROUNDS)
    parser.add_argument("--only", choices=["days"])
    arguments = parser.parse_args()
    n_rounds = arguments.rounds
    found, notes = ({}, []) if arguments.only else measure(n_rounds)
    saved, table = simulate(4 * n_rounds)
    found["gpu_hours_saved_percent"] = saved[NEVER_USED_SHARE]
    found["gpu_hours_saved_if_all_train_percent"] = saved[0.0]
    write_report(
        "lend",
        title="GPUs of kernels",
        figures={name: found[name].median for name in WORDS if name in found},
        spread={name: found[name].spread for name in WORDS if name in found},
        words={name: words for name, words in WORDS.items() if name in found},
        rounds=n_rounds,
        is_part=True,
        tables=[table],
        notes=[
            *notes,
            "The days are simulated, the policy is the product's own: 50 people with 62 of 64 "
            f"GPUs for 8 hours, GPUs back after {AFTER_MIN} and {WARNING_MIN} minutes without "
            "use, nobody gives them back by hand. All cells run in both cases.",
            "Shares and medians are those that Carver et al. published of notebooks at Adobe "
            "(NotebookOS, ASPLOS 2026, arXiv 2503.20591), read in a summary of that paper: nearly "
            "70 % of reserved GPUs are never used in their session, a cell that trains takes 2 "
            "minutes in the median and 5 in the upper quartile, and 5 minutes lie between two. "
            "Lognormal tails, the hours, and GPUs per person are assumptions.",
            "Most of what is saved is of people who hold a GPU all day and never train. If "
            "everybody trains all day, with pauses shorter than the site's time, little is saved.",
        ],
    )


if __name__ == "__main__":
    main()
