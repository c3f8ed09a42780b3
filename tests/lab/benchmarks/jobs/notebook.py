"""A notebook as a job beside the same program by sbatch, in turns, on the running portal."""

import statistics
import time
from pathlib import Path

import nbformat

from tests.lab.benchmarks.rounds import Rounds
from tests.support.eventually import eventually
from tests.templates.conftest import ENVIRONMENTS, SlurmSession
from tests.templates.test_job_file import DSPORTAL, as_user

# A job waits for slurmctld's next look, up to a second.
PAIRS_PER_ROUND = 3
LINES = ("import torch", "print(float(torch.ones(1000).sum()))")
_END_TIMEOUT_S = 300
_LOOK_S = 0.5
_JOB = """\
#!/bin/sh
#SBATCH --gpus=1 --cpus-per-task=2 --time=10
{python} train.py
touch train.done
"""


def measure_notebooks(n_rounds: int) -> dict[str, Rounds]:
    """Return seconds from the submitting command to the end of both, and the difference."""
    session = SlurmSession("ada")
    try:
        folder = session.working_dir / "job"
        folder.mkdir()
        _write(folder)
        pairs = [_measure_pairs(session, folder) for _ in range(n_rounds)]
    finally:
        session.remove()
    return {
        "notebook_job_s": Rounds([notebook for notebook, _ in pairs], 2),
        "same_program_s": Rounds([program for _, program in pairs], 2),
        "notebook_job_extra_s": Rounds([notebook - program for notebook, program in pairs], 2),
    }


def _write(folder: Path) -> None:
    cells = list(map(nbformat.v4.new_code_cell, LINES))
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata["kernelspec"] = {"name": "pytorch", "display_name": "PyTorch"}
    nbformat.write(notebook, folder / "train.ipynb")
    (folder / "train.py").write_text("\n".join(LINES) + "\n")
    python = ENVIRONMENTS / "pytorch/bin/python"
    (folder / "program.job").write_text(_JOB.format(python=python))


def _measure_pairs(session: SlurmSession, folder: Path) -> tuple[float, float]:
    # What a notebook leaves last is its result.
    submit = (DSPORTAL, "job", "new", "--hours", "0.1", "train.ipynb")
    ways = (submit, "train-*.json"), (("sbatch", "program.job"), "train.done")
    took_s: tuple[list[float], list[float]] = [], []
    for _ in range(PAIRS_PER_ROUND):
        for (words, left), values in zip(ways, took_s, strict=True):
            values.append(_measure(session, folder, *words, left=left))
    print(", ".join(f"{statistics.mean(values):.2f} s" for values in took_s), flush=True)
    return statistics.mean(took_s[0]), statistics.mean(took_s[1])


def _measure(session: SlurmSession, folder: Path, *words: object, left: str) -> float:
    """Return seconds from the command until the job has `left` its last file."""
    began_s = time.time()
    as_user(session, folder, *words)

    def find() -> Path | None:
        return next(folder.glob(left), None)

    found = eventually(find, timeout_s=_END_TIMEOUT_S, every_s=_LOOK_S)
    took_s = found.stat().st_mtime - began_s
    if found.suffix == ".json":
        assert '"state": "done"' in found.read_text(), found.read_text()
    for path in folder.glob("train[-.]*"):
        if path.name not in {"train.ipynb", "train.py"}:
            path.unlink()
    return took_s
