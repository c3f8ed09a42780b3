"""Which variables of twenty notebooks come along when a kernel moves, and how long 1 GB takes."""

import json
import shutil
import statistics
from pathlib import Path

from tests.lab.benchmarks.report import LEAST_ROUNDS, Table, missed_of, spread_of, write_report
from tests.lab.benchmarks.variables.brought import BROUGHT
from tests.lab.benchmarks.variables.measure import Moved, move, time_arrays
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
    "variables_wrong": "variables that come and are not what they were",
    "save_s_per_gb": "seconds to save 1 GB of arrays",
    "restore_s_per_gb": "seconds to restore 1 GB of arrays",
}


def test_the_variables_of_twenty_notebooks_come_along(rounds: int, tmp_path: Path) -> None:
    moved = {name: move_template(name, tmp_path / f"{n}") for n, name in enumerate(NOTEBOOKS)}
    for name, (cells, environment) in BROUGHT.items():
        folder = tmp_path / name
        folder.mkdir()
        moved[name] = move(cells, environment, folder)
    times = [time_arrays(folder) for folder in folders(tmp_path, rounds)]
    saves, restores = zip(*times, strict=True)
    n_variables = sum(one.n_variables for one in moved.values())
    n_wrong = sum(len(one.wrong) for one in moved.values())
    n_right = n_variables - n_wrong - sum(len(one.lost) for one in moved.values())

    write_report(
        "variables",
        title="Variables of a kernel that moves",
        figures={
            "variables_restored_percent": round(100 * n_right / n_variables, 1),
            "variables_wrong": n_wrong,
            "save_s_per_gb": round(statistics.median(saves), 2),
            "restore_s_per_gb": round(statistics.median(restores), 2),
        },
        words=WORDS,
        spread={"save_s_per_gb": spread_of(saves, 2), "restore_s_per_gb": spread_of(restores, 2)},
        rounds=rounds,
        tables=[
            Table(
                title="Notebooks",
                columns=("notebook", "cells", "variables", "do not come", "wrong"),
                rows=[
                    (name, one.n_cells, one.n_variables, "; ".join(one.lost), "; ".join(one.wrong))
                    for name, one in moved.items()
                ],
            )
        ],
        notes=(
            "Two kernels on one machine, without GPUs, and files on its local disk. Fifteen "
            "template notebooks, and five of the kinds that people bring. Variables are compared "
            "by their contents, with weights of models and states of optimizers, and by the names "
            "that share an object.",
        ),
    )
    if rounds >= LEAST_ROUNDS:
        assert missed_of("variables") == {}


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


def folders(parent: Path, n_folders: int) -> list[Path]:
    """Make folders, each for one round."""
    found = [parent / f"arrays{number}" for number in range(n_folders)]
    for folder in found:
        folder.mkdir()
    return found
