"""Training on four nodes, which the simulated cluster has as long as these tests run."""

import subprocess
from pathlib import Path

import pytest

from tests.templates.conftest import ENVIRONMENTS, SETTINGS

pytestmark = [pytest.mark.cluster, pytest.mark.release]

CHECKOUT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent
HOROVOD_CASES = ("gradients_of_2x2_ranks", "gradients_of_4x1_ranks")
TORCH_CASES = ("torch_2x2_ranks", "torch_4x1_ranks")
# What depends on the number of nodes, and nothing that would touch hub or sessions.
STEPS = ("network", "slurmconf", "slurmctld", "node03", "node04", "slurm")


def set_nodes(n_nodes: int) -> None:
    steps = STEPS if n_nodes == 4 else tuple(step for step in STEPS if "node" not in step)
    only = [word for step in steps for word in ("--only", step)]
    subprocess.run(
        [CHECKOUT / "deploy" / "up", f"--simulated-nodes={n_nodes}", *only],
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=60,
    )


@pytest.fixture(scope="module")
def four_nodes():
    if not SETTINGS["site"]["simulated_gpus"]:
        pytest.skip("a machine with real GPUs is one node")
    try:
        set_nodes(4)
        yield
    finally:
        set_nodes(2)


@pytest.fixture(scope="module")
def found(four_nodes, session):
    python = ENVIRONMENTS / "pytorch" / "bin" / "python"
    return {
        **session.run_cases(FOLDER / "training_cases.py", HOROVOD_CASES),
        **session.run_cases(FOLDER / "torch_cases.py", TORCH_CASES, python),
    }


@pytest.mark.parametrize("case", [*HOROVOD_CASES, *TORCH_CASES])
def test_four_ranks_learn_what_one_process_learns_and_agree_to_the_last_bit(found, case):
    assert found[case].value["ranks_equal"]
    assert found[case].value["largest_difference"] < 1e-5


def test_ranks_are_counted_on_each_of_their_nodes(found):
    two_each = [[0, 4, "0"], [1, 4, "1"], [2, 4, "0"], [3, 4, "1"]]
    one_each = [[0, 4, "0"], [1, 4, "0"], [2, 4, "0"], [3, 4, "0"]]

    assert found["torch_2x2_ranks"].value["places"] == two_each
    assert found["torch_4x1_ranks"].value["places"] == one_each


@pytest.mark.parametrize("case", ["gradients_of_4x1_ranks", "torch_4x1_ranks"])
def test_the_cell_names_the_four_nodes(found, case):
    assert "Running on node[01-04].\n" in found[case].cell
