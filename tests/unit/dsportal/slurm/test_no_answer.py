"""What Slurm prints when it gave no answer, told from every refusal."""

from pathlib import Path

import pytest

from dsportal.slurm.no_answer import is_no_answer
from spawner.client.command import make_error
from spawner.errors import SlurmUnavailableError

ERRNO = Path(__file__).parents[2] / "spawner" / "golden" / "slurm-22.05" / "errno.txt"
TEXTS = [line for line in ERRNO.read_text().splitlines() if not line.startswith("#")]


@pytest.mark.parametrize("line", TEXTS)
def test_each_text_of_slurm_is_an_answer_or_none(line: str) -> None:
    mark, _, text = line.partition(" ")
    stderr = f"sbatch: error: Batch job submission failed: {text}\n"

    assert is_no_answer(stderr) == (mark == "-")


@pytest.mark.parametrize(
    "stderr",
    [
        "sbatch: error: Batch job submission failed: Message receive failure",
        "slurm_load_jobs error: Unable to contact slurm controller (connect failure)",
        "sbatch: error: If munged is up, restart with --num-threads=10",
        "sacct: error: slurm_persist_conn_open_without_init: failed to open persistent connection"
        " to host:localhost:6819: Connection refused",
        "squeue: error: Primary not responding, backup not in control. Sleeping and retry.",
    ],
)
def test_every_command_takes_the_same_texts_for_no_answer(stderr: str) -> None:
    assert isinstance(make_error(("sbatch",), 1, stderr), SlurmUnavailableError)


@pytest.mark.parametrize("text", ["Cluster is closed, come back later", ""])
def test_words_of_a_site_are_an_answer(text: str) -> None:
    assert not is_no_answer(f"sbatch: error: {text}")
