"""The parts of the suite, in their order, and how each is run: in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from tests.lab.gpu.bench import Bench, Sizes
from tests.lab.gpu.card import describe_card
from tests.lab.gpu.findings import Check, Findings, FindingsFile, Untried, read_findings
from tests.lab.gpu.ranks import check_ranks
from tests.lab.gpu.readings import check_readings

# What a part may need to end after its time, before it is killed.
GRACE_S = 15.0
# Exit status of a part that has written down how it failed.
KNOWN_FAILURE = 3
SEED = 2018


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part.

    Attributes:
        share: Of the whole time, beside the shares of the others.
    """

    name: str
    title: str
    share: int
    run: Callable[[Bench], None]


PARTS = (
    Part(name="card", title="the card and its programs", share=20, run=describe_card),
    Part(name="readings", title="nvidia-smi, NVML, idle policy", share=50, run=check_readings),
    Part(name="ranks", title="ranks through dsportal", share=60, run=check_ranks),
)
BY_NAME = {part.name: part for part in PARTS}


def run_part(part: Part, *, device: str, sizes: Sizes, limit_s: float) -> Findings:
    """Run a part in a process that is forked, so that PyTorch is imported once.

    Whatever happens to it, what it had found is returned, with a failed check for an error.
    """
    with tempfile.TemporaryDirectory(prefix="gpu-suite-") as name:
        found_path = Path(name) / "found.jsonl"
        folder = Path(name) / "work"
        folder.mkdir()
        bench = Bench(
            device=device,
            sizes=sizes,
            folder=folder,
            found=FindingsFile(found_path),
            ends_s=time.monotonic() + limit_s,
        )
        process = multiprocessing.get_context("fork").Process(target=_run, args=(part, bench))
        process.start()
        process.join(limit_s + GRACE_S)
        is_late = process.is_alive()
        if is_late and process.pid is not None:
            # With the processes that it has started.
            os.killpg(process.pid, signal.SIGKILL)
            process.join()
        found = read_findings(found_path)
    if is_late:
        found.add(Untried(what=f"the rest of {part.title}", why=f"{limit_s:.0f} s were over"))
    elif process.exitcode not in {0, KNOWN_FAILURE}:
        detail = f"it ended with status {process.exitcode}"
        found.add(Check(sentence=_ends(part), passed=False, detail=detail))
    return found


def _ends(part: Part) -> str:
    return f"The part {part.name} runs to its end"


def _run(part: Part, bench: Bench) -> None:
    os.setsid()
    os.chdir(bench.folder)
    torch.manual_seed(SEED)
    if not bench.is_gpu:
        # Threads that wait for each other take minutes where other programs use the cores.
        torch.set_num_threads(1)
    try:
        part.run(bench)
    except Exception:
        traceback.print_exc()
        last = traceback.format_exc(limit=-3)
        bench.found.check(_ends(part), False, last)
        os._exit(KNOWN_FAILURE)
