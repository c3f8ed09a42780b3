"""The flavour cpu from the ordinary index alone, as on a machine that nobody has prepared.

It downloads about 3.5 GB, since that index has PyTorch only with its CUDA libraries.
"""

import subprocess
from collections.abc import Iterator

import pytest

from deploy.environments.builder.environment import installed_pins
from deploy.environments.builder.plan import Flavour, Plan
from deploy.environments.builder.process import clean_environment
from tests.lab.environments.built import built
from tests.support.cells import RUN_CELL
from tests.support.training_cells import TRAIN_PYTORCH, TRAIN_TENSORFLOW


@pytest.fixture(scope="module")
def plan() -> Iterator[Plan]:
    """The environments of a session."""
    with built(Flavour.CPU, "server", "tensorflow", "pytorch", "kernels", "package") as plan:
        yield plan


def test_pytorch_brings_the_libraries_that_it_cannot_be_imported_without(plan: Plan) -> None:
    pins = installed_pins(plan, "pytorch")

    assert "+" not in pins["torch"]
    assert "nvidia-cudnn-cu13" in pins


@pytest.mark.parametrize(
    ("kernel", "cell"), [("tensorflow", TRAIN_TENSORFLOW), ("pytorch", TRAIN_PYTORCH)]
)
def test_each_kernel_trains(plan: Plan, kernel: str, cell: str) -> None:
    python = plan.environment("server") / "bin/python"

    done = subprocess.run(
        [python, "-c", RUN_CELL, kernel, cell],
        env=clean_environment(),
        timeout=400,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "falls True" in done.stdout, f"{done.stdout}\n{done.stderr}"
