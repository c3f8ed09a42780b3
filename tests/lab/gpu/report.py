"""What the suite leaves behind: docs/benchmarks/gpu.json, and the same as text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path
from typing import Any

from tests.lab.benchmarks.machine import read_machine
from tests.lab.gpu.findings import Figure, Findings

CHECKOUT = Path(__file__).resolve().parents[3]
RESULTS_PATH = CHECKOUT / "docs" / "benchmarks" / "gpu.json"


def report_of(found: Findings, *, took_s: float, commit: str = "") -> dict[str, Any]:
    """Return the report, as docs/make_benchmarks.py reads it."""
    machine = read_machine()
    if commit and not machine.commit:
        machine = replace(machine, commit=commit)
    return {
        "title": f"GPU: {found.facts.get('name', 'of unknown name')}",
        "machine": asdict(machine),
        "gpu": found.facts,
        "date": date.today().isoformat(),
        "command": "tests/run gpu",
        "took_s": round(took_s, 1),
        "figures": {figure.name: _rounded(figure.median) for figure in found.figures},
        "words": {figure.name: figure.label for figure in found.figures},
        "spread": {figure.name: _spread(figure) for figure in found.figures},
        "tables": [table for table in _tables(found) if table["rows"]],
        "notes": _notes(found),
    }


def write_report(report: dict[str, Any], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=2) + "\n")


def _spread(figure: Figure) -> dict[str, float | int]:
    return {
        "least": _rounded(min(figure.values)),
        "most": _rounded(max(figure.values)),
        "rounds": len(figure.values),
    }


def _rounded(value: float) -> float:
    """Keep four digits."""
    return float(f"{value:.4g}")


def _tables(found: Findings) -> list[dict[str, Any]]:
    return [
        {
            "title": "What was checked",
            "columns": ["what must hold", "", "seen"],
            "rows": [
                [check.sentence, "yes" if check.passed else "**NO**", check.detail[-200:]]
                for check in found.checks
            ],
        },
        {
            "title": "What was not tried",
            "columns": ["what", "why"],
            "rows": [[each.what, each.why] for each in found.untried],
        },
    ]


def _notes(found: Findings) -> list[str]:
    facts = found.facts
    card = (
        f"{facts.get('n_gpus', 0)} x {facts.get('name')}, {facts.get('memory_mib', 0):,} MiB; "
        f"driver {facts.get('driver', 'unknown')}; PyTorch {facts.get('torch')} with CUDA "
        f"{facts.get('cuda')}, cuDNN {facts.get('cudnn')} and NCCL {facts.get('nccl')}."
    )
    return [card, "Each figure is the median of its rounds, with the least and the most of them."]


def text_of(found: Findings, took_s: float) -> str:
    """Return figures, checks and what was not tried, for a terminal."""
    lines = ["", "figures: median (least to most, rounds)"]
    lines += [f"{_line(figure)}" for figure in found.figures]
    lines += ["", "not tried", *(f"  {each.what}: {each.why}" for each in found.untried)]
    lines += ["", "checks", *(_check_line(check) for check in found.checks)]
    n_failed = sum(not check.passed for check in found.checks)
    return "\n".join(
        [
            *lines,
            "",
            f"{len(found.figures)} figures, {len(found.checks)} checks, {n_failed} failed, "
            f"{len(found.untried)} not tried, {took_s:.0f} s",
        ]
    )


def _line(figure: Figure) -> str:
    values: Sequence[float] = figure.values
    return (
        f"{_rounded(figure.median):>12g}  {figure.name} "
        f"({_rounded(min(values)):g} to {_rounded(max(values)):g}, {len(values)})"
    )


def _check_line(check: Any) -> str:
    if check.passed:
        return f"  yes  {check.sentence}"
    return f"  NO   {check.sentence}: {check.detail}"
