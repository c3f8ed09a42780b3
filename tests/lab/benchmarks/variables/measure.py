"""Moves the variables of notebooks from one kernel to the next, and compares them."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.environments.builder.plan import Plan
from tests.support.checkout import CHECKOUT
from tests.support.two_kernels import started

LOOK = Path(__file__).with_name("look.py").read_text()
_STATE = "state"
# As in a session: the library and the site's data.
ENVIRON = {
    "PORTAL_LIBRARY": str(CHECKOUT / "portal/dsportal"),
    "PORTAL_DATASETS_DIR": "/srv/isilon/datasets",
}
# Ten of 100 MB.
ARRAYS = """import numpy as np
arrays = [np.random.default_rng(seed).random(12_500_000) for seed in range(10)]"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What became of the variables of one notebook.

    Attributes:
        n_cells: Cells that ran; the first that failed ends it.
        lost: Names and kinds of those that did not come.
        wrong: Of those that came and are not what they were.
    """

    n_cells: int
    n_variables: int
    lost: tuple[str, ...]
    wrong: tuple[str, ...]


def move(cells: Sequence[str], environment: str, folder: Path) -> Moved:
    """Run a notebook in one kernel and let its variables come along to another one.

    Args:
        cells: Their code.
        environment: That of the kernels.
        folder: Where they run.
    """
    python = str(Plan().environment(environment) / "bin/python")
    state = folder / _STATE
    state.mkdir(mode=0o700)
    n_cells = 0
    # What a cell installs, which root could put into the portal's own environment.
    packages = folder / "packages"
    packages.mkdir()
    environ = {**ENVIRON, "PIP_TARGET": str(packages), "PYTHONPATH": str(packages)}
    with started(python, folder, environ) as old:
        for cell in cells:
            old.run(cell)
            if old.has_failed:
                break
            n_cells += 1
        before = _seen(old.run(LOOK, is_cell=False))
        old.save(state)
    with started(python, folder, environ) as new:
        new.restore(state)
        after = _seen(new.run(LOOK, is_cell=False))
    lost = sorted(before.keys() - after.keys())
    return Moved(
        n_cells=n_cells,
        n_variables=len(before),
        lost=tuple(f"{name} ({before[name][0]})" for name in lost),
        wrong=tuple(
            f"{name} ({before[name][0]})"
            for name, seen in after.items()
            if name in before and not _is_same(seen, before[name], lost)
        ),
    )


def time_arrays(folder: Path) -> tuple[float, float]:
    """Return the seconds of saving and restoring 1 GB of arrays."""
    python = str(Plan().environment("pytorch") / "bin/python")
    state = folder / _STATE
    state.mkdir(mode=0o700)
    with started(python, folder) as old:
        old.run(ARRAYS)
        began_s = time.monotonic()
        assert old.save(state)["saved"] > 0
        save_s = time.monotonic() - began_s
    with started(python, folder) as new:
        began_s = time.monotonic()
        assert new.restore(state)["lost"] == []
        return save_s, time.monotonic() - began_s


def _seen(printed: str) -> dict[str, list[str]]:
    (line,) = [line for line in printed.splitlines() if line.startswith("FOUND ")]
    return dict(json.loads(line.removeprefix("FOUND ")))


def _is_same(after: list[str], before: list[str], lost: Sequence[str]) -> bool:
    # The first name of an object that has two may be one that did not come.
    return after[:2] == before[:2] and (after[2] == before[2] or before[2] in lost)
