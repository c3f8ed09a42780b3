"""What a rank reports is in the TensorBoard writer that it has opened."""

from pathlib import Path

import pytest

from tests.templates.conftest import ENVIRONMENTS, SlurmSession

pytestmark = [pytest.mark.cluster, pytest.mark.release]

PROGRAM = Path(__file__).with_name("tensorboard_cases.py")


@pytest.mark.parametrize(
    ("environment", "case"), [("pytorch", "torch_writer"), ("tensorflow", "tensorflow_writer")]
)
def test_the_writer_of_a_rank_has_the_loss(
    session: SlurmSession, environment: str, case: str
) -> None:
    python = ENVIRONMENTS / environment / "bin" / "python"

    outcome = session.run_cases(PROGRAM, [case], python)[case]

    # Once a second, and the last step: of three steps at once, two.
    assert outcome.value["report/loss"] == [[1, 1.0], [3, pytest.approx(1 / 3)]]
