"""Losses of the real frameworks."""

import subprocess
from pathlib import Path

import pytest

from deploy.environments.builder.plan import Plan

CHECKOUT = Path(__file__).parents[4]
LOSSES = {
    "pytorch": """
import torch
one = torch.ones(1, requires_grad=True)
losses = [one.sum() / 2, one / 2, one.detach() / 2, (one / 2).half()]
""",
    "tensorflow": """
import numpy, tensorflow
losses = [tensorflow.constant(0.5), tensorflow.constant([0.5]), tensorflow.Variable(0.5)]
losses += [0.5, numpy.float32(0.5), numpy.array(0.5), numpy.array([0.5])]
""",
}
PRINT = """
import warnings
from dsportal.worker.training_log import number_of
warnings.simplefilter("error")
print({number_of(loss) for loss in losses})
"""


@pytest.mark.parametrize("environment", LOSSES)
def test_a_loss_becomes_a_number_without_a_warning(environment: str) -> None:
    python = Plan().environment(environment) / "bin/python"
    if not python.exists():
        pytest.skip(f"no environment of {environment}; deploy/up builds it")
    done = subprocess.run(
        [python, "-c", LOSSES[environment] + PRINT],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert done.stdout == "{0.5}\n", done.stderr
