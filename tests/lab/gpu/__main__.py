"""The suite's own program: `python -m tests.lab.gpu`, which `tests/run gpu` starts."""

from __future__ import annotations

import argparse
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path

import torch

from tests.lab.gpu.bench import Bench
from tests.lab.gpu.card import describe_card
from tests.lab.gpu.ranks import check_ranks
from tests.lab.gpu.readings import check_readings

# Ranks before this process itself computes, for a GPU may take one process at a time.
PARTS = {"card": describe_card, "ranks": check_ranks, "readings": check_readings}


def main(argv: Sequence[str]) -> int:
    """Try the parts; return 0 if all checks passed, 1 if one failed."""
    parser = argparse.ArgumentParser(
        prog="tests/run gpu", description="Try the portal's code for GPUs where there is one."
    )
    # Read by tests/run, and named here for --help.
    parser.add_argument("--python", help="who runs it: python3 or the portal's own, if not given")
    parser.add_argument("--cpu", action="store_true", help="try the suite itself, with tiny sizes")
    options = parser.parse_args(argv)
    if options.cpu:
        # Threads that wait for each other take minutes where other programs use the cores.
        torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="gpu-suite-") as folder:
        bench = Bench(device="cpu" if options.cpu else "cuda", folder=Path(folder))
        for name, part in PARTS.items():
            print(f"\n== {name}", flush=True)
            try:
                part(bench)
            except Exception:
                bench.check(f"The part {name} runs to its end", False, traceback.format_exc())
    counts = f"{bench.n_checks} checks, {bench.n_failed} failed, {bench.n_untried} not tried"
    print(f"\n{counts}")
    return 1 if bench.n_failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
