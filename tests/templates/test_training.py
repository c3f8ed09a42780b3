"""Training with Horovod from a session: gradients, refusals and a rank that exits."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.cluster

PROGRAM = Path(__file__).with_name("training_cases.py")
CASES = ("gradients", "refusals", "checkpoint", "exit_in_training")
# Each takes its time, and those of a push would notice most faults.
CASES_OF_RELEASE = (
    "gradients_on_two_nodes",
    "keras_progress",
    "save_and_warm_up",
)
GRADIENTS = (
    "gradients",
    pytest.param("gradients_on_two_nodes", marks=pytest.mark.release),
)


@pytest.fixture(scope="module")
def found(session, request):
    """What each case found: those of a release too, if their tests are run."""
    tests = (item for item in request.session.items if item.module is request.module)
    is_release = any(item.get_closest_marker("release") for item in tests)
    return session.run_cases(PROGRAM, (*CASES, *(CASES_OF_RELEASE if is_release else ())))


@pytest.mark.parametrize("case", GRADIENTS)
def test_two_ranks_end_with_the_same_weights_to_the_last_bit(found, case):
    assert found[case].value["ranks_equal"]


@pytest.mark.parametrize("case", GRADIENTS)
def test_two_ranks_learn_what_one_process_learns_from_the_same_batches(found, case):
    gradients = found[case].value

    assert gradients["largest_weight"] > 0.1
    assert gradients["largest_difference"] < 1e-5


def test_figures_of_an_epoch_are_averaged_over_the_ranks(found):
    assert found["gradients"].value["average_of_ranks"] == [0.5, 0.5]


@pytest.mark.release
def test_the_keras_callback_shows_steps_of_all_epochs_images_and_loss(found):
    value = found["keras_progress"].value

    assert (value["step"], value["n_steps"]) == (24, 24)
    assert value["rate"] > 0
    assert re.search(r"^Done, 24 steps in \d+ s, loss ", found["keras_progress"].cell, re.MULTILINE)


@pytest.mark.release
def test_the_learning_rate_rises_from_that_of_one_rank_to_that_of_all(found):
    rates = found["save_and_warm_up"].value["rates"]
    n_steps = len(rates) // 3

    assert 0.1 < rates[0] < 0.11
    assert rates == sorted(rates)
    assert rates[2 * n_steps - 1 :] == pytest.approx([0.2] * (n_steps + 1))


@pytest.mark.release
def test_a_model_saved_by_a_rank_loads_without_horovod(found):
    assert found["save_and_warm_up"].value["optimizer"] == "SGD"


def test_a_keras_training_that_was_told_of_its_limit_goes_on_in_the_same_epoch(found):
    checkpoint = found["checkpoint"].value
    n_steps = 12  # of an epoch

    assert checkpoint["first"] is None
    assert checkpoint["second"]["begun"] == [2, 3]
    assert 4 * n_steps < checkpoint["second"]["steps"] <= 5 * n_steps
    assert "Saved in epoch 3" in found["checkpoint"].cell


def test_horovods_own_optimizer_is_refused_loudly(found):
    text = found["refusals"].value["stock_optimizer"]

    assert "does not average gradients under Keras 3" in text
    assert "import dsportal.horovod_keras as hvd" in text


def test_an_optimizer_that_was_not_made_to_average_is_refused(found):
    text = found["refusals"].value["forgotten_optimizer"]

    assert "2 ranks would train with Adam, which does not average" in text


def test_ranks_that_would_train_alone_are_refused(found):
    assert "2 ranks were started and Horovod sees 1" in found["refusals"].value["no_gloo"]


def test_a_rank_of_horovod_that_exits_is_named_and_not_the_one_that_lost_it(found):
    failure = found["exit_in_training"].value

    assert failure["rank"] == 1, failure
    assert "exit code 9" in failure["text"]
