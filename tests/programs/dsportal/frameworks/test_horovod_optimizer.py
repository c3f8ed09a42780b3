"""DistributedOptimizer on two ranks over Gloo, with the Keras and the Horovod of their kernel."""

from pathlib import Path

import pytest

from tests.support.tensorflow_cases import TensorFlowCases

pytestmark = pytest.mark.release


@pytest.fixture(scope="module")
def found(session) -> TensorFlowCases:
    program = Path(__file__).with_name("optimizer_cases.py")
    return TensorFlowCases(program, (), session.environ, session.working_dir)


def test_gradients_of_all_ranks_are_averaged_whatever_their_kind(found):
    number, unused, rows, vector = 1.5, 0.0, [[0.5, 1.0], [0.0, 0.0], [1.0, 1.0]], [5.0, 4.0]

    assert found["average"] == [[number, unused, rows, vector]] * 2


def test_gradients_are_summed_where_that_is_asked_for(found):
    number, unused, rows, vector = 3.0, 0.0, [[1.0, 2.0], [0.0, 0.0], [2.0, 2.0]], [10.0, 8.0]

    assert found["total"] == [[number, unused, rows, vector]] * 2


def test_a_model_that_has_only_sparse_gradients_is_trained(found):
    assert found["rows_alone"] == [[[2.0], [2.0]]] * 2


def test_gradients_are_sent_with_as_many_digits_as_asked_for(found):
    assert found["precision"] == [[1.0 + 2.0**-12, 1.0]] * 2


def test_an_optimizer_that_has_trained_before_keeps_its_state(found):
    # The momentum of 8 is halved, then comes the average of 0 and 2.
    expected = {"is_same_object": True, "steps": 2, "value": 8.0 + 4.0 + 1.0}

    assert found["state"] == [expected] * 2


def test_a_saved_model_loads_with_the_stock_optimizer(found):
    names = ["keras.optimizers", "Adam"]

    expected = {"names": names, "is_stock": True, "rate": 0.25, "clipnorm": 0.5}
    assert found["saved"] == [expected] * 2


def test_an_optimizer_cannot_step_before_horovod_is_started(found):
    assert (
        found["not_started"]
        == ["LaunchError: Horovod is not started. Call hvd.init() at the start of the function."]
        * 2
    )


@pytest.mark.parametrize(
    ("case", "text"),
    [
        (
            "twice",
            "LaunchError: This optimizer averages already. Wrap it in DistributedOptimizer once.",
        ),
        (
            "a_name",
            "LaunchError: DistributedOptimizer takes a Keras optimizer and got str. Give it an "
            "object such as keras.optimizers.Adam(1e-3).",
        ),
        (
            "stock",
            "UnaveragedError: 2 ranks would train with Adam, which does not average gradients. "
            "Compile the model with hvd.DistributedOptimizer(...) of dsportal.horovod_keras.",
        ),
        (
            "scale_around",
            "UnaveragedError: Mixed precision put a LossScaleOptimizer around "
            "DistributedOptimizer, and ranks could then skip different steps. Write "
            "DistributedOptimizer(LossScaleOptimizer(Adam(...))).",
        ),
        (
            "for_xla",
            "LaunchError: The model was compiled for XLA, which cannot run Horovod's operations. "
            "Add jit_compile=False to model.compile.",
        ),
    ],
)
def test_what_would_train_without_averaging_is_refused_with_what_to_write(found, case, text):
    assert [rank[case] for rank in found["refused"]] == [text] * 2


@pytest.mark.parametrize("case", ["averaging", "scale_inside"])
def test_an_optimizer_that_averages_is_accepted(found, case):
    assert [rank[case] for rank in found["refused"]] == [""] * 2
