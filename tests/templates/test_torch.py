"""Training with PyTorch from a session: on one node, across nodes, and over a time limit."""

import re
from pathlib import Path

import pytest

from tests.templates.conftest import ENVIRONMENTS

pytestmark = [pytest.mark.cluster, pytest.mark.release]

PROGRAM = Path(__file__).with_name("torch_cases.py")
CASES = (
    "torch_on_one_node",
    "torch_on_two_nodes",
    "torch_alone",
    "torch_exit",
    "limit",
    "links",
    "study",
    "probe",
)


@pytest.fixture(scope="module")
def found(session):
    python = ENVIRONMENTS / "pytorch" / "bin" / "python"
    return session.run_cases(PROGRAM, CASES, python)


@pytest.mark.parametrize("case", ["torch_on_one_node", "torch_on_two_nodes"])
def test_two_ranks_end_with_the_same_weights_to_the_last_bit(found, case):
    assert found[case].value["ranks_equal"]


@pytest.mark.parametrize("case", ["torch_on_one_node", "torch_on_two_nodes"])
def test_two_ranks_learn_what_one_process_learns_from_the_same_batches(found, case):
    assert found[case].value["largest_difference"] < 1e-5


def test_ranks_are_counted_on_each_node_as_torchrun_counts(found):
    assert found["torch_on_one_node"].value["places"] == [[0, 2, "0"], [1, 2, "1"]]
    assert found["torch_on_two_nodes"].value["places"] == [[0, 2, "0"], [1, 2, "0"]]


def test_ranks_of_one_node_stay_off_the_network(found):
    assert found["torch_on_one_node"].value["interface"] == "lo"
    assert found["torch_on_two_nodes"].value["interface"] != "lo"


def test_a_rank_that_would_train_alone_is_refused(found):
    text = found["torch_alone"].value["text"]

    assert "2 ranks were started and PyTorch sees 1" in text


@pytest.mark.parametrize(
    ("how", "words"),
    [("exit", "exit code 9"), ("SIGSEGV", "Segmentation fault"), ("SIGKILL", "Killed")],
)
def test_the_rank_that_ended_is_named_and_not_the_one_that_lost_it(found, how, words):
    failure = found["torch_exit"].value[how]

    assert failure["rank"] == 1
    assert words in failure["text"]


def test_a_run_that_meets_its_limit_saves_a_checkpoint_and_says_how_to_go_on(found):
    value = found["limit"].value

    assert (value["first"], value["state"]) == (None, "saved")
    assert "resume=True" in found["limit"].cell


def test_a_resumed_run_goes_on_from_the_checkpoint(found):
    value = found["limit"].value
    (step,) = re.findall(r"saved at step (\d+)", value["output"])

    assert int(step) > 0
    assert value["resumed"] == {"first_step": int(step), "last_step": int(step) + 5}


def test_messages_go_from_each_rank_to_each_other_one(found):
    value = found["links"].value

    assert value["from"] == [[1], [0]]
    assert min(value["rates"]) > 0
    assert min(value["latencies"]) > 0
    assert value["table"].count("GB/s, from") == 1
    assert ("say nothing about GPUs" in value["table"]) == value["simulated_gpus"]


def test_a_scaling_study_measures_ranks_and_nodes_and_says_how_many_gpus_pay(found):
    study = found["study"].value

    assert study["shapes"] == [[1, 1], [1, 2], [2, 1]]
    assert study["steps"] == [20, 20, 20]
    assert min(study["rates"]) > 0
    assert study["table"].count("\n") == 3
    assert study["advice"].startswith("Use ")
    assert "2x1, batch 64, fp32" in study["report"]


def test_a_probe_keeps_to_its_time_and_gives_the_advice_with_its_band(found):
    value = found["probe"].value

    assert value["took_s"] < 60
    assert "1x1, batch 64, fp32: " in found["probe"].cell
    assert "1x2, batch 64, fp32: " in found["probe"].cell
    assert re.match(r"Use (1 GPU|up to|\d+ GPUs)", value["text"])
    assert re.search(r"\d\.\d \(\d+\.\d to \d+\.\d\) times as fast as one", value["text"])
    assert "GPU hours an epoch" in value["table"]
