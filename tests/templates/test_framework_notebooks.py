"""The notebooks of TensorFlow, Horovod and Keras, and the first one that a user opens."""

import re

import pytest

from tests.templates.notebooks import SPEEDUP

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize(
    ("notebook", "at_least", "n_pictures"),
    [
        ("start-here.ipynb", 0.93, 2),
        pytest.param("tensorflow/custom_loop.ipynb", 0.95, 2, marks=pytest.mark.release),
        pytest.param("tensorflow/mixed_precision.ipynb", 0.85, 2, marks=pytest.mark.release),
        pytest.param("tensorflow/resume.ipynb", None, 1, marks=pytest.mark.release),
        pytest.param("horovod/several_nodes.ipynb", 0.94, 1, marks=pytest.mark.release),
        pytest.param("horovod/convert.ipynb", 0.9, 1, marks=pytest.mark.release),
        pytest.param("keras/backends.ipynb", 0.93, 1, marks=pytest.mark.release),
    ],
)
def test_a_notebook_runs_to_its_end_without_a_warning_and_learns(
    executed, notebook, at_least, n_pictures
):
    found = executed(notebook)

    assert found.standard_error == ""
    assert at_least is None or found.figures["accuracy"] >= at_least
    assert len(found.pictures) == n_pictures


def test_the_first_notebook_says_what_the_session_has(executed, session):
    text = executed("start-here.ipynb").text

    simulated = " simulated" if session.is_simulated else ""
    assert re.search(rf"^GPUs +2{simulated}", text, re.MULTILINE)
    assert re.search(r"^cores +\d+", text, re.MULTILINE)
    assert re.search(r"^memory +[\d,.]+ [MG]B(, [\d.]+ [MG]B of it real)?$", text, re.MULTILINE)
    assert re.search(r"^time left +(\d+ h )?\d+ min$", text, re.MULTILINE)
    assert re.search(r"^isilon +[\d,]+ of [\d,]+ GB free: ", text, re.MULTILINE)


@pytest.mark.release
def test_half_precision_stands_beside_full_precision(executed, session):
    rows = re.findall(
        r"^(\w+) +[\d,]+ images/s, [\d.]+ times FP32, accuracy ([\d.]+) after (\d) epochs$",
        executed("tensorflow/mixed_precision.ipynb").text,
        re.MULTILINE,
    )

    expected = ["FP32", "BF16"] if session.is_simulated else ["FP32", "BF16", "FP16"]
    assert [name for name, _, _ in rows] == expected
    # A processor that computes in one of them only with conversions is given less to do.
    accuracies = [float(accuracy) for _, accuracy, n_epochs in rows if n_epochs == "5"]
    assert max(accuracies) - min(accuracies) < 0.05


@pytest.mark.release
def test_an_interrupted_training_continues_with_the_epoch_that_was_interrupted(executed):
    resume = executed("tensorflow/resume.ipynb")
    assert "Interrupted: the session ended." in resume.text
    assert "Trained epochs [4, 5, 6]." in resume.text


@pytest.mark.release
def test_a_resumed_run_on_ranks_trains_only_what_was_left(executed):
    resume = executed("tensorflow/resume.ipynb")
    trained = re.findall(r"^trained epochs (.+), validation", resume.text, re.MULTILINE)

    assert trained == ["[1]", "[2]"]


@pytest.mark.release
def test_two_nodes_train_one_network(executed):
    several_nodes = executed("horovod/several_nodes.ipynb")
    rows = re.findall(r"^ +(\d)  (\S+) +3,500 +([0-9a-f]{16})$", several_nodes.text, re.MULTILINE)

    assert [rank for rank, _, _ in rows] == ["0", "1"]
    assert len({node for _, node, _ in rows}) == 2
    assert len({weights for _, _, weights in rows}) == 1


@pytest.mark.release
def test_without_horovod_the_ranks_train_two_networks_and_with_it_one(executed):
    convert = executed("horovod/convert.ipynb")
    apart = re.findall(r"^process \d: \d+ steps, weights (\w+)$", convert.text, re.MULTILINE)
    together = re.findall(r"^rank \d: weights (\w+)$", convert.text, re.MULTILINE)

    assert (len(apart), len(set(apart))) == (2, 2)
    assert (len(together), len(set(together))) == (2, 1)


@pytest.mark.release
@pytest.mark.parametrize("notebook", ["horovod/several_nodes.ipynb", "horovod/convert.ipynb"])
def test_a_notebook_says_whether_two_gpus_were_faster(executed, notebook):
    assert re.search(SPEEDUP, executed(notebook).text, re.MULTILINE)


@pytest.mark.release
def test_a_model_of_one_backend_reads_the_same_on_the_other(executed):
    backends = executed("keras/backends.ipynb")
    names = re.findall(r"^(\w+) +[\d,]+ images/s, validation", backends.text, re.MULTILINE)
    (difference,) = re.findall(r"difference of a probability: (\S+)$", backends.text, re.MULTILINE)

    assert names == ["tensorflow", "torch"]
    assert float(difference) < 1e-4
