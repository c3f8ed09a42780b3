"""TensorFlow and PyTorch with the CUDA libraries or without: who chooses, and what is installed."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from deploy.environments.builder import flavour, pytorch
from deploy.environments.builder.command import main, parse_arguments
from deploy.environments.builder.flavour import Flavour, keep_flavour, kept_flavour
from deploy.environments.builder.package_sources import SETTING
from deploy.environments.builder.plan import Plan


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """A checkout with both builds of PyTorch, for a machine without a GPU."""
    plan = Plan(prefix=tmp_path, source_dir=tmp_path)
    plan.locks_dir.mkdir(parents=True)
    (plan.locks_dir / "pytorch-cpu.txt").write_text("torch==2.13.0+cpu\n")
    (plan.locks_dir / "pytorch-gpu.txt").write_text("torch==2.13.0\nnvidia-nccl-cu13==2.29.7\n")
    return plan


@pytest.fixture
def nvidia_smi(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What nvidia-smi -L prints."""
    lines: list[str] = []
    monkeypatch.setattr(flavour, "read_output", lambda _: "\n".join(lines))
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
        keep_flavour(plan.prefix, plan.flavour)
        return plan.flavour

    assert flavour_after("--flavour", "gpu") is Flavour.GPU
    assert flavour_after() is Flavour.GPU
    assert flavour_after("--flavour", "cpu") is Flavour.CPU
    assert flavour_after() is Flavour.CPU
    # What suited the machine was no choice.
    nvidia_smi.append("GPU 0: Tesla V100-SXM2-32GB (UUID: GPU-1)")
    assert flavour_after() is Flavour.GPU


def test_each_flavour_has_locks_of_its_own() -> None:
    for name in ("tensorflow", "pytorch"):
        locks = [Plan(flavour=each).pins(name).name for each in Flavour]
        assert locks == [f"{name}-gpu.txt", f"{name}-cpu.txt"]
    assert {Plan(flavour=each).pins("hub").name for each in Flavour} == {"hub.txt"}


@pytest.mark.parametrize(
    ("installed", "offered", "lock"),
    [
        ({}, "would install", "pytorch-cpu.txt"),
        ({"torch": "2.13.0+cpu"}, None, "pytorch-cpu.txt"),
        ({"torch": "2.13.0"}, None, "pytorch-gpu.txt"),
        ({}, None, "pytorch-gpu.txt"),
    ],
    ids=["offered", "there", "other", "neither"],
)
def test_pytorch_without_cuda_is_taken_where_it_can_be_had(
    plan: Plan,
    monkeypatch: pytest.MonkeyPatch,
    installed: dict[str, str],
    offered: str | None,
    lock: str,
) -> None:
    monkeypatch.setenv(SETTING, f"https://pypi.org/simple {plan.prefix}")
    monkeypatch.setattr(pytorch, "installed_packages", lambda *_: installed)
    monkeypatch.setattr(pytorch, "ask_pip", lambda *_: offered)

    assert pytorch.chosen_lock(plan, io.StringIO()).name == lock


def test_the_ordinary_index_is_not_asked_for_what_it_never_has(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(SETTING, raising=False)
    monkeypatch.setattr(pytorch, "installed_packages", lambda *_: {})
    monkeypatch.setattr(pytorch, "ask_pip", lambda *argv: pytest.fail(f"asked: {argv}"))

    assert pytorch.chosen_lock(plan, io.StringIO()).name == "pytorch-gpu.txt"


def test_a_python_for_which_there_is_one_build_gets_that(plan: Plan) -> None:
    (plan.locks_dir / "pytorch-cpu.txt").unlink()

    assert pytorch.chosen_lock(plan, io.StringIO()).name == "pytorch-gpu.txt"


def test_a_setting_that_cannot_be_understood_ends_the_build(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(SETTING, "/no/wheels")

    assert main(["hub"]) == 2
    assert "/no/wheels" in capsys.readouterr().err
