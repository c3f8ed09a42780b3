"""Which variables of twenty notebooks come along when a kernel moves."""

import json
import shutil
from pathlib import Path

import pytest

from tests.lab.benchmarks.report import LEAST_ROUNDS, Table, missed_of, write_report
from tests.lab.benchmarks.variables.brought import BROUGHT
from tests.lab.benchmarks.variables.measure import Moved, move
from tests.support.checkout import CHECKOUT

TEMPLATES = CHECKOUT / "notebook_templates"
# Those that need nothing of Slurm.
NOTEBOOKS = (
    "data/tabular",
    "data/your_own",
    "inference/int8",
    "keras/backends",
    "pytorch/digits",
    "pytorch/images",
    "pytorch/mixed_precision",
    "pytorch/profile",
    "pytorch/transformer",
    "horovod/convert",
    "tensorflow/custom_loop",
    "tensorflow/digits",
    "tensorflow/mixed_precision",
    "tensorflow/resume",
    "pytorch/compile",
)
WORDS = {
    "variables_restored_percent": "variables of twenty notebooks that come along, without modules "
    "and what is imported from them",
    "variables_wrong": "variables that come and are not what they were, by contents, weights and "
    "states, and by the names that share an object",
}


@pytest.fixture(scope="module", autouse=True)
def quiet_machine() -> None:
    """Whether a variable comes along does not depend on other programs."""


def test_the_variables_of_twenty_notebooks_come_along(rounds: int, tmp_path: Path) -> None:
    moved = {name: move_template(name, tmp_path / f"{n}") for n, name in enumerate(NOTEBOOKS)}
    for name, (cells, environment) in BROUGHT.items():
        folder = tmp_path / name
        folder.mkdir()
        moved[name] = move(cells, environment, folder)
    # One that stops at its first cell would have nothing to lose.
    assert len(moved) == 20
    assert all(one.n_variables for one in moved.values())
    n_variables = sum(one.n_variables for one in moved.values())
    n_wrong = sum(len(one.wrong) for one in moved.values())
    n_right = n_variables - n_wrong - sum(len(one.lost) for one in moved.values())

    is_rehearsal = rounds < LEAST_ROUNDS
    write_report(
        "lend",
        title="GPUs of kernels",
        figures={
            "variables_restored_percent": round(100 * n_right / n_variables, 1),
            "variables_wrong": n_wrong,
        },
        words=WORDS,
        rounds=rounds if is_rehearsal else None,
        tables=[
            Table(
                title="Variables of notebooks: fifteen templates and five of the kinds that people "
                "bring, between two kernels on one machine without GPUs",
                columns=("notebook", "cells", "variables", "do not come", "wrong"),
                rows=[
                    (name, one.n_cells, one.n_variables, "; ".join(one.lost), "; ".join(one.wrong))
                    for name, one in moved.items()
                ],
            )
        ],
        is_part=True,
    )
    if not is_rehearsal:
        assert not WORDS.keys() & missed_of("lend").keys()


def move_template(name: str, folder: Path) -> Moved:
    """Run a template as the launcher copies it, and let its variables come along."""
    notebook = TEMPLATES / f"{name}.ipynb"
    shutil.copytree(TEMPLATES / "shared", folder / "shared")
    there = folder / notebook.relative_to(TEMPLATES).parent
    there.mkdir(exist_ok=True)
    content = json.loads(notebook.read_text())
    cells = ["".join(one["source"]) for one in content["cells"] if one["cell_type"] == "code"]
    is_tensorflow = content["metadata"]["kernelspec"]["name"] == "tensorflow"
    return move(cells, "tensorflow" if is_tensorflow else "pytorch", there)
