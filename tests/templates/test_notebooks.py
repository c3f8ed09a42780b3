"""Template notebooks, run to their end in the kernels that they name, in jobs like a session's."""

import re

import pytest

from tests.templates.notebooks import SPEEDUP, execute, run_notebook

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def keras_digits(session):
    return execute(session, "tensorflow/digits.ipynb")


@pytest.fixture(scope="module")
def horovod_digits(session):
    return execute(session, "horovod/digits.ipynb")


@pytest.mark.release
def test_the_keras_notebook_runs_to_its_end_without_a_warning(keras_digits):
    assert keras_digits.standard_error == ""


@pytest.mark.release
def test_the_keras_notebook_reads_at_least_97_of_100_test_digits(keras_digits):
    assert keras_digits.figures["accuracy"] >= 0.97


@pytest.mark.release
def test_the_keras_notebook_shows_training_and_validation_accuracy_of_each_epoch(keras_digits):
    epochs = re.findall(r" accuracy: 0\.\d+ .* val_accuracy: 0\.\d+", keras_digits.text)

    assert len(epochs) == 10


@pytest.mark.release
def test_the_keras_notebook_draws_digits_curves_and_mistakes(keras_digits):
    assert len(keras_digits.pictures) == 4


@pytest.mark.release
def test_the_model_that_the_keras_notebook_saves_reads_as_before(keras_digits):
    assert "Loaded again, it predicts the same." in keras_digits.text


@pytest.mark.release
def test_the_keras_notebook_writes_logs_for_tensorboard_beside_itself(keras_digits):
    assert list((keras_digits.folder / "logs").glob("*/train/events.out.tfevents.*"))


@pytest.mark.release
def test_the_horovod_notebook_trains_on_all_gpus_of_the_session(horovod_digits):
    assert re.search(r"^2 ranks on \S+, each with a ", horovod_digits.text, re.MULTILINE)


@pytest.mark.release
def test_the_horovod_notebook_reads_at_least_96_of_100_test_digits(horovod_digits):
    assert horovod_digits.figures["accuracy"] >= 0.96


@pytest.mark.release
def test_the_horovod_notebook_ends_with_equal_weights_on_all_ranks(horovod_digits):
    rows = re.findall(r"^ +\d  +3,500 +([0-9a-f]{16})$", horovod_digits.text, re.MULTILINE)

    assert len(rows) == 2
    assert len(set(rows)) == 1
    assert "All ranks have equal weights." in horovod_digits.text


@pytest.mark.release
def test_the_horovod_notebook_says_whether_two_gpus_were_faster(horovod_digits):
    assert re.search(SPEEDUP, horovod_digits.text, re.MULTILINE)


@pytest.mark.release
def test_the_horovod_notebook_writes_logs_for_tensorboard_beside_itself(horovod_digits):
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
