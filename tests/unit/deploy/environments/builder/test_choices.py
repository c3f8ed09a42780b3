"""TensorFlow and PyTorch with the CUDA libraries or without: who chooses, and what is installed."""

from pathlib import Path

import pytest

from deploy.environments.builder import choices
from deploy.environments.builder.choices import keep_choices, kept_flavour
from deploy.environments.builder.command import main, parse_arguments
from deploy.environments.builder.package_sources import SETTING
from deploy.environments.builder.plan import Flavour, Plan


@pytest.fixture
def nvidia_smi(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What nvidia-smi -L prints."""
    lines: list[str] = []
    monkeypatch.setattr(choices, "read_output", lambda _: "\n".join(lines))
    return lines


def test_a_machine_with_a_gpu_gets_the_cuda_libraries(
    tmp_path: Path, nvidia_smi: list[str]
) -> None:
    assert kept_flavour(tmp_path) is Flavour.CPU
    nvidia_smi.append("NVIDIA-SMI has failed because it couldn't communicate with the driver.")
    assert kept_flavour(tmp_path) is Flavour.CPU
    nvidia_smi.append("GPU 0: Tesla V100-SXM2-32GB (UUID: GPU-1)")
    assert kept_flavour(tmp_path) is Flavour.GPU


def test_a_choice_is_kept_until_another_one(tmp_path: Path, nvidia_smi: list[str]) -> None:
    def flavour_after(*words: str) -> Flavour:
        _, plan = parse_arguments(["hub", "--prefix", str(tmp_path), *words])
        keep_choices(plan)
        return plan.flavour

    assert flavour_after("--flavour", "gpu") is Flavour.GPU
    assert flavour_after() is Flavour.GPU
    assert flavour_after("--flavour", "cpu") is Flavour.CPU
    assert flavour_after() is Flavour.CPU
    # What suited the machine was no choice.
    nvidia_smi.append("GPU 0: Tesla V100-SXM2-32GB (UUID: GPU-1)")
    assert flavour_after() is Flavour.GPU


def test_tensorflow_has_a_group_for_each_flavour() -> None:
    groups = [Plan(flavour=each).group("tensorflow") for each in Flavour]

    assert groups == ["tensorflow-gpu", "tensorflow-cpu"]
    assert {Plan(flavour=each).group("hub") for each in Flavour} == {"hub"}


def test_a_setting_that_cannot_be_understood_ends_the_build(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(SETTING, "/no/wheels")

    assert main(["hub"]) == 2
    assert "/no/wheels" in capsys.readouterr().err
