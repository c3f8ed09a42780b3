"""The suite's own program: `python -m tests.lab.gpu`, which `tests/run gpu` starts."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from tests.lab.gpu.bench import FULL, TINY
from tests.lab.gpu.findings import Findings
from tests.lab.gpu.parts import BY_NAME, PARTS, Part, run_part
from tests.lab.gpu.report import RESULTS_PATH, report_of, text_of, write_report

DEFAULT_MINUTES = 3.0
# No more than an end to what hangs: a CPU may have others to serve.
CPU_MINUTES = 10.0


def main(argv: Sequence[str]) -> int:
    """Run parts, say what was found, and write it down.

    Returns:
        0 if all checks passed, 1 if one failed.
    """
    options = _parse(argv)
    began_s = time.monotonic()
    device = "cpu" if options.cpu else "cuda"
    # Whatever is measured, a reader has to know on what.
    wanted = {"card", *options.parts} if options.parts else set(BY_NAME)
    parts = [part for part in PARTS if part.name in wanted]
    found = run_parts(parts, device=device, total_s=60 * options.minutes)
    took_s = time.monotonic() - began_s
    print(text_of(found, took_s))
    if options.cpu:
        print("Nothing was written: figures of a CPU say nothing about GPUs.")
    elif options.parts and not options.out:
        print("Nothing was written: --out names a file for the figures of some parts.")
    elif found.figures:
        path = options.out or RESULTS_PATH
        write_report(report_of(found, took_s=took_s, commit=options.commit), path)
        print(f"Written: {path}. Now run docs/make_benchmarks.py.")
    return 1 if any(not check.passed for check in found.checks) else 0


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tests/run gpu",
        description="Try the portal's code for GPUs where there is one.",
        epilog="Parts: " + "; ".join(f"{part.name}: {part.title}" for part in PARTS),
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help="only these; none for all")
    # Read by tests/run, and named here for --help.
    parser.add_argument("--python", help="who runs it: python3 or the portal's own, if not given")
    parser.add_argument("--cpu", action="store_true", help="try the suite itself, with tiny sizes")
    parser.add_argument("--minutes", type=float, help=f"for all parts; {DEFAULT_MINUTES:g}")
    parser.add_argument("--commit", default="", help="of this checkout, where git does not say it")
    parser.add_argument("--out", type=Path, help=f"file of the figures; {RESULTS_PATH.name}")
    options = parser.parse_args(argv)
    if unknown := set(options.parts) - set(BY_NAME):
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(BY_NAME)}")
    options.minutes = options.minutes or (CPU_MINUTES if options.cpu else DEFAULT_MINUTES)
    return options


def run_parts(parts: Sequence[Part], *, device: str, total_s: float) -> Findings:
    """Run parts one after the other; what one leaves of its time goes to those after it."""
    found = Findings()
    ends_s = time.monotonic() + total_s
    for place, part in enumerate(parts):
        shares = sum(later.share for later in parts[place:])
        limit_s = (ends_s - time.monotonic()) * part.share / shares
        print(f"== {part.name}: {part.title}, up to {limit_s:.0f} s", flush=True)
        began_s = time.monotonic()
        sizes = TINY if device == "cpu" else FULL
        found.extend(run_part(part, device=device, sizes=sizes, limit_s=limit_s))
        print(f"   {time.monotonic() - began_s:.1f} s", flush=True)
    return found
