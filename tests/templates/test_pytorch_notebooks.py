"""The template notebooks for PyTorch, run to their end in real sessions."""

import re

import pytest

from tests.templates.notebooks import SPEEDUP

pytestmark = pytest.mark.cluster

DISTRIBUTED = pytest.param("pytorch/distributed.ipynb", marks=pytest.mark.release)
SEARCH = pytest.param("pytorch/search.ipynb", marks=pytest.mark.release)
PROFILE = pytest.param("pytorch/profile.ipynb", marks=pytest.mark.release)
COMPILE = pytest.param("pytorch/compile.ipynb", marks=pytest.mark.release)
FSDP = pytest.param("pytorch/fsdp.ipynb", marks=pytest.mark.release)
LIGHTNING = pytest.param("pytorch/lightning_trainer.ipynb", marks=pytest.mark.release)
TRACKING = pytest.param("pytorch/tracking.ipynb", marks=pytest.mark.release)
MIXED_PRECISION = pytest.param("pytorch/mixed_precision.ipynb", marks=pytest.mark.release)


@pytest.mark.parametrize(
    "name",
    [
        *("pytorch/digits.ipynb", COMPILE, DISTRIBUTED, FSDP, LIGHTNING),
        *(MIXED_PRECISION, PROFILE, SEARCH, TRACKING),
    ],
)
def test_a_pytorch_notebook_runs_to_its_end_without_a_warning(executed, name):
    assert executed(name).standard_error == ""


@pytest.mark.parametrize("name", ["pytorch/digits.ipynb", DISTRIBUTED, LIGHTNING, TRACKING])
def test_a_pytorch_notebook_reads_at_least_95_of_100_test_digits(executed, name):
    assert executed(name).figures["accuracy"] >= 0.95


def test_the_digits_are_drawn_with_the_curves_and_the_misread_ones(executed):
    assert len(executed("pytorch/digits.ipynb").pictures) == 3


def test_the_saved_network_reads_the_same_when_it_is_read_back(executed):
    assert "Loaded again, it predicts the same: True" in executed("pytorch/digits.ipynb").text


def test_the_pytorch_notebook_writes_logs_for_tensorboard_beside_itself(executed):
    assert list((executed("pytorch/digits.ipynb").folder / "logs").glob("*/events.out.tfevents.*"))


@pytest.mark.release
def test_ranks_on_one_node_and_on_two_end_with_equal_weights(executed):
    distributed = executed("pytorch/distributed.ipynb")
    rows = re.findall(r"^ +\d  +3,500 +([0-9a-f]{16}) ", distributed.text, re.MULTILINE)

    assert [len(set(rows[:2])), len(set(rows[2:]))] == [1, 1]
    assert len(rows) == 4
    assert distributed.text.count("All ranks have equal weights.") == 2


@pytest.mark.release
def test_the_second_training_is_a_job_over_two_nodes(executed):
    distributed = executed("pytorch/distributed.ipynb")
    assert re.search(r"^2 ranks on 2 nodes as job \d+", distributed.text, re.MULTILINE)


@pytest.mark.release
def test_the_notebook_says_for_both_trainings_whether_two_gpus_were_faster(executed):
    assert len(re.findall(SPEEDUP, executed("pytorch/distributed.ipynb").text, re.MULTILINE)) == 2


@pytest.mark.release
def test_fsdp_holds_half_of_the_model_on_each_of_two_ranks_and_learns_the_same(executed):
    fsdp = executed("pytorch/fsdp.ipynb")
    rows = re.findall(r"^(DDP|FSDP) +(\d)(?: +[\d.]+){3} +([\d.]+)$", fsdp.text, re.MULTILINE)
    difference = re.search(r"^Largest difference of a loss: ([\d.e+-]+),", fsdp.text, re.MULTILINE)

    assert [(way, rank) for way, rank, _ in rows] == [
        ("DDP", "0"),
        ("DDP", "1"),
        ("FSDP", "0"),
        ("FSDP", "1"),
    ]
    (whole, _, part, _) = (float(mib) for _, _, mib in rows)
    assert 0.45 < part / whole < 0.55
    assert difference is not None
    assert float(difference[1]) < 0.01
    assert "UserWarning" not in fsdp.text


@pytest.mark.release
def test_every_trial_of_a_search_is_a_job_and_the_best_two_are_trained_longer(executed):
    search = executed("pytorch/search.ipynb")
    sweeps = re.findall(r"^(\d) points as job \d+, at most 8 at once\.", search.text, re.MULTILINE)

    assert sweeps == ["6", "2"]
    assert search.figures["accuracy"] >= 0.9


@pytest.mark.release
def test_the_profile_names_the_parts_of_a_step_and_mending_them_keeps_the_losses(executed):
    profile = executed("pytorch/profile.ipynb")
    parts = re.findall(r"^(\d) (\w+) +[\d.]+ ms a step,", profile.text, re.MULTILINE)
    difference = re.search(r"^Largest difference of a loss: (\S+)$", profile.text, re.MULTILINE)

    assert [name for _, name in parts] == 2 * ["input", "learning", "watching"]
    assert "aten::" in profile.text
    assert difference is not None
    assert float(difference[1]) < 0.01


@pytest.mark.release
def test_compiling_keeps_the_losses_and_what_breaks_and_repeats_it_is_counted(executed):
    compile_ = executed("pytorch/compile.ipynb")
    difference = re.search(r"^Largest difference of a loss: (\S+)$", compile_.text, re.MULTILINE)

    assert re.search(r"^Compiled, a step is [\d.]+ times as fast\.$", compile_.text, re.MULTILINE)
    assert difference is not None
    assert float(difference[1]) < 0.01
    assert "clipped_by_python: 1 graph breaks" in compile_.text
    assert "clipped_by_torch: 0 graph breaks" in compile_.text
    assert "compiled 2 times" in compile_.text
    assert compile_.figures["accuracy"] >= 0.85


@pytest.mark.release
def test_half_precision_stands_beside_full_precision(executed):
    mixed_precision = executed("pytorch/mixed_precision.ipynb")
    accuracies = re.findall(
        r"^Test accuracy: (0\.\d+), in FP32 (0\.\d+)$", mixed_precision.text, re.MULTILINE
    )
    networks = re.findall(
        r"^(\w+) network: \w+ is [\d.]+ times as fast as FP32", mixed_precision.text, re.MULTILINE
    )

    assert networks == ["small", "wide"]
    assert abs(float(accuracies[0][0]) - float(accuracies[0][1])) < 0.03
    assert mixed_precision.figures["accuracy"] > 0.85


@pytest.mark.release
def test_lightning_trains_on_one_gpu_of_the_session_and_then_on_all(executed):
    lightning_trainer = executed("pytorch/lightning_trainer.ipynb")
    ranks = re.findall(
        r"^rank (\d): (\d+) steps, validation (0\.\d+)$", lightning_trainer.text, re.MULTILINE
    )
    best = re.search(r"^The best of \d epochs: \S+\.ckpt$", lightning_trainer.text, re.MULTILINE)

    assert [rank for rank, _, _ in ranks] == ["0", "1"]
    # Each has half of the images, and all agree on how good the network is.
    assert {steps for _, steps, _ in ranks} == {str(4 * (3_500 // 64))}
    assert len({accuracy for _, _, accuracy in ranks}) == 1
    assert float(ranks[0][2]) > 0.9
    assert best is not None
    assert list((lightning_trainer.folder / "logs").glob("**/events.out.tfevents.*"))


@pytest.mark.release
def test_each_training_is_in_mlflow_and_in_tensorboard_and_the_best_comes_back(executed):
    tracking = executed("pytorch/tracking.ipynb")
    runs = re.findall(r"^(rate [\d.]+, width \d+) +validation", tracking.text, re.MULTILINE)
    boards = {path.parent.name for path in (tracking.folder / "logs").glob("*/events.*")}
    artifacts = [*(tracking.folder.parents[1] / "mlruns").glob("*/*/artifacts/network.pt")]

    assert len(runs) == 4
    assert boards == set(runs)
    assert len(artifacts) == 4
    assert "as good as when it was logged: True" in tracking.text
