"""The record of which templates ran to their end, when, with which versions, and what came out."""

import datetime
import json
from dataclasses import asdict
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from tests.lab.benchmarks.machine import read_machine

FRAMEWORKS = ("horovod", "keras", "mxnet", "tensorflow", "tensorflow-cpu", "torch")
_executed: dict[str, dict[str, Any]] = {}


def note(
    name: str,
    notebook: dict[str, Any],
    environments: Path,
    *,
    seconds: float,
    figures: dict[str, float],
    load_before: float,
) -> None:
    """Note that a template was run.

    Args:
        load_before: Mean number of processes that ran in the minute before it.
    """
    kernel = notebook["metadata"]["kernelspec"]["name"]
    today = datetime.datetime.now(datetime.UTC).date()
    _executed[name] = {
        "date": today.isoformat(),
        "versions": versions_of(environments / kernel),
        "seconds": round(seconds, 1),
        "figures": figures,
        "load": round(load_before, 1),
        "machine": asdict(read_machine()),
    }


def versions_of(environment: Path) -> dict[str, str]:
    """Return the versions of the frameworks in the environment of a kernel."""
    folders = [str(path) for path in environment.glob("lib/python3*/site-packages")]
    found = {
        d.metadata["Name"].lower().replace("_", "-"): d.version for d in distributions(path=folders)
    }
    return {name: found[name] for name in FRAMEWORKS if name in found}


def write(path: Path) -> None:
    """Write the record of this run over that of earlier ones, if any template was run in it."""
    if _executed:
        path.parent.mkdir(parents=True, exist_ok=True)
        earlier = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps(earlier | _executed, indent=1, sort_keys=True) + "\n")
