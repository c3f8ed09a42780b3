"""The template notebooks for PyTorch, run to their end in real sessions."""

import re

import pytest

from tests.templates.notebooks import SPEEDUP, execute

pytestmark = pytest.mark.cluster

DISTRIBUTED = pytest.param("distributed", marks=pytest.mark.release)
SEARCH = pytest.param("search", marks=pytest.mark.release)
PROFILE = pytest.param("profile", marks=pytest.mark.release)
COMPILE = pytest.param("compile_", marks=pytest.mark.release)
FSDP = pytest.param("fsdp", marks=pytest.mark.release)
LIGHTNING = pytest.param("lightning_trainer", marks=pytest.mark.release)
TRACKING = pytest.param("tracking", marks=pytest.mark.release)
MIXED_PRECISION = pytest.param("mixed_precision", marks=pytest.mark.release)


@pytest.fixture(scope="module")
def digits(session):
    return execute(session, "pytorch/digits.ipynb")


@pytest.fixture(scope="module")
def distributed(session):
    return execute(session, "pytorch/distributed.ipynb")


@pytest.fixture(scope="module")
def fsdp(session):
    return execute(session, "pytorch/fsdp.ipynb")


@pytest.fixture(scope="module")
def search(session):
    return execute(session, "pytorch/search.ipynb")


@pytest.fixture(scope="module")
def profile(session):
    return execute(session, "pytorch/profile.ipynb")


@pytest.fixture(scope="module")
def compile_(session):
    return execute(session, "pytorch/compile.ipynb")


@pytest.fixture(scope="module")
def mixed_precision(session):
    return execute(session, "pytorch/mixed_precision.ipynb")


@pytest.fixture(scope="module")
def lightning_trainer(session):
    return execute(session, "pytorch/lightning_trainer.ipynb")


@pytest.fixture(scope="module")
def tracking(session):
    return execute(session, "pytorch/tracking.ipynb")


@pytest.mark.parametrize(
    "name",
    [
        *("digits", COMPILE, DISTRIBUTED, FSDP, LIGHTNING),
        *(MIXED_PRECISION, PROFILE, SEARCH, TRACKING),
    ],
)
def test_a_pytorch_notebook_runs_to_its_end_without_a_warning(request, name):
    assert request.getfixturevalue(name).standard_error == ""


@pytest.mark.parametrize("name", ["digits", DISTRIBUTED, LIGHTNING, TRACKING])
def test_a_pytorch_notebook_reads_at_least_95_of_100_test_digits(request, name):
    assert request.getfixturevalue(name).figures["accuracy"] >= 0.95


def test_the_digits_are_drawn_with_the_curves_and_the_misread_ones(digits):
    assert len(digits.pictures) == 3


def test_the_saved_network_reads_the_same_when_it_is_read_back(digits):
    assert "Loaded again, it predicts the same: True" in digits.text


def test_the_pytorch_notebook_writes_logs_for_tensorboard_beside_itself(digits):
    assert list((digits.folder / "logs").glob("*/events.out.tfevents.*"))


@pytest.mark.release
def test_ranks_on_one_node_and_on_two_end_with_equal_weights(distributed):
    rows = re.findall(r"^ +\d  +3,500 +([0-9a-f]{16}) ", distributed.text, re.MULTILINE)

    assert [len(set(rows[:2])), len(set(rows[2:]))] == [1, 1]
    assert len(rows) == 4
    assert distributed.text.count("All ranks have equal weights.") == 2


@pytest.mark.release
def test_the_second_training_is_a_job_over_two_nodes(distributed):
    assert re.search(r"^2 ranks on 2 nodes as job \d+", distributed.text, re.MULTILINE)


@pytest.mark.release
def test_the_notebook_says_for_both_trainings_whether_two_gpus_were_faster(distributed):
    assert len(re.findall(SPEEDUP, distributed.text, re.MULTILINE)) == 2


@pytest.mark.release
def test_fsdp_holds_half_of_the_model_on_each_of_two_ranks_and_learns_the_same(fsdp):
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
def test_every_trial_of_a_search_is_a_job_and_the_best_two_are_trained_longer(search):
    sweeps = re.findall(r"^(\d) points as job \d+, at most 8 at once\.", search.text, re.MULTILINE)

    assert sweeps == ["6", "2"]
    assert search.figures["accuracy"] >= 0.9


@pytest.mark.release
def test_the_profile_names_the_parts_of_a_step_and_mending_them_keeps_the_losses(profile):
    parts = re.findall(r"^(\d) (\w+) +[\d.]+ ms a step,", profile.text, re.MULTILINE)
    difference = re.search(r"^Largest difference of a loss: (\S+)$", profile.text, re.MULTILINE)

    assert [name for _, name in parts] == 2 * ["input", "learning", "watching"]
    assert "aten::" in profile.text
    assert difference is not None
    assert float(difference[1]) < 0.01


@pytest.mark.release
def test_compiling_keeps_the_losses_and_what_breaks_and_repeats_it_is_counted(compile_):
    difference = re.search(r"^Largest difference of a loss: (\S+)$", compile_.text, re.MULTILINE)

    assert re.search(r"^Compiled, a step is [\d.]+ times as fast\.$", compile_.text, re.MULTILINE)
    assert difference is not None
    assert float(difference[1]) < 0.01
    assert "clipped_by_python: 1 graph breaks" in compile_.text
    assert "clipped_by_torch: 0 graph breaks" in compile_.text
    assert "compiled 2 times" in compile_.text
    assert compile_.figures["accuracy"] >= 0.85


@pytest.mark.release
def test_half_precision_stands_beside_full_precision(mixed_precision):
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
def test_lightning_trains_on_one_gpu_of_the_session_and_then_on_all(lightning_trainer):
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
def test_each_training_is_in_mlflow_and_in_tensorboard_and_the_best_comes_back(tracking):
    runs = re.findall(r"^(rate [\d.]+, width \d+) +validation", tracking.text, re.MULTILINE)
    boards = {path.parent.name for path in (tracking.folder / "logs").glob("*/events.*")}
    artifacts = [*(tracking.folder.parents[1] / "mlruns").glob("*/*/artifacts/network.pt")]

    assert len(runs) == 4
    assert boards == set(runs)
    assert len(artifacts) == 4
    assert "as good as when it was logged: True" in tracking.text
