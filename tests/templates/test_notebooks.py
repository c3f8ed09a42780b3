"""Template notebooks, run to their end in the kernels that they name, in jobs like a session's."""

import re

import pytest

from tests.templates.notebooks import SPEEDUP, run_notebook

pytestmark = pytest.mark.cluster


@pytest.mark.release
def test_the_keras_notebook_runs_to_its_end_without_a_warning(executed):
    assert executed("tensorflow/digits.ipynb").standard_error == ""


@pytest.mark.release
def test_the_keras_notebook_reads_at_least_97_of_100_test_digits(executed):
    assert executed("tensorflow/digits.ipynb").figures["accuracy"] >= 0.97


@pytest.mark.release
def test_the_keras_notebook_shows_training_and_validation_accuracy_of_each_epoch(executed):
    keras_digits = executed("tensorflow/digits.ipynb")
    epochs = re.findall(r" accuracy: 0\.\d+ .* val_accuracy: 0\.\d+", keras_digits.text)

    assert len(epochs) == 10


@pytest.mark.release
def test_the_keras_notebook_draws_digits_curves_and_mistakes(executed):
    assert len(executed("tensorflow/digits.ipynb").pictures) == 4


@pytest.mark.release
def test_the_model_that_the_keras_notebook_saves_reads_as_before(executed):
    assert "Loaded again, it predicts the same." in executed("tensorflow/digits.ipynb").text


@pytest.mark.release
def test_the_keras_notebook_writes_logs_for_tensorboard_beside_itself(executed):
    keras_digits = executed("tensorflow/digits.ipynb")
    assert list((keras_digits.folder / "logs").glob("*/train/events.out.tfevents.*"))


@pytest.mark.release
def test_the_horovod_notebook_trains_on_all_gpus_of_the_session(executed):
    horovod_digits = executed("horovod/digits.ipynb")
    assert re.search(r"^2 ranks on \S+, each with a ", horovod_digits.text, re.MULTILINE)


@pytest.mark.release
def test_the_horovod_notebook_reads_at_least_96_of_100_test_digits(executed):
    assert executed("horovod/digits.ipynb").figures["accuracy"] >= 0.96


@pytest.mark.release
def test_the_horovod_notebook_ends_with_equal_weights_on_all_ranks(executed):
    horovod_digits = executed("horovod/digits.ipynb")
    rows = re.findall(r"^ +\d  +3,500 +([0-9a-f]{16})$", horovod_digits.text, re.MULTILINE)

    assert len(rows) == 2
    assert len(set(rows)) == 1
    assert "All ranks have equal weights." in horovod_digits.text


@pytest.mark.release
def test_the_horovod_notebook_says_whether_two_gpus_were_faster(executed):
    assert re.search(SPEEDUP, executed("horovod/digits.ipynb").text, re.MULTILINE)


@pytest.mark.release
def test_the_horovod_notebook_writes_logs_for_tensorboard_beside_itself(executed):
    horovod_digits = executed("horovod/digits.ipynb")
    assert list((horovod_digits.folder / "logs").glob("2-ranks/train/events.out.tfevents.*"))


def test_without_the_data_a_notebook_says_how_to_put_it_there(session):
    link = session.working_dir / "isilon"
    target = link.readlink()
    link.unlink()
    try:
        printed, _ = run_notebook(session, "horovod/digits.ipynb")
    finally:
        link.symlink_to(target)

    assert "DataError: The digits are not at" in printed
    assert "deploy/environments/build datasets" in printed
    assert "digits_data.py" not in printed
