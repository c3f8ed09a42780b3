"""PyTorch with CUDA and without: what is installed, and torchvision beside the latter."""

import io
from pathlib import Path

import pytest

from deploy.common.errors import DeployError
from deploy.environments.builder import pytorch, uv
from deploy.environments.builder.package_sources import SETTING
from deploy.environments.builder.plan import Plan

LOCKED = "nvidia-nccl-cu13==2.29.7\ntorch==2.13.0\ntorchvision==0.28.0\ntriton==3.7.1\n"


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """A checkout with a PyTorch without CUDA, for a machine without a GPU."""
    plan = Plan(prefix=tmp_path, source_dir=tmp_path)
    plan.recipes_dir.mkdir(parents=True)
    file = plan.recipes_dir / f"torch-cpu-{plan.python_release}.txt"
    file.write_text("torch===2.13.0+cpu\n")
    return plan


@pytest.fixture
def extension(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of an environment whose programs succeed."""
    monkeypatch.setattr(pytorch, "run", lambda *_, **__: None)
    path = tmp_path / "lib/python3.11/site-packages/torchvision/extension.py"
    path.parent.mkdir(parents=True)
    path.write_text("def _has_ops():\n    return False\n")
    return path


def test_the_operators_are_declared_once(tmp_path: Path, extension: Path) -> None:
    pytorch.declare_operators(tmp_path, io.StringIO())
    pytorch.declare_operators(tmp_path, io.StringIO())

    assert extension.read_text().count("define(") == 1


def test_the_file_in_the_cache_of_uv_stays_as_it_was(tmp_path: Path, extension: Path) -> None:
    cached = tmp_path / "cached.py"
    cached.hardlink_to(extension)

    pytorch.declare_operators(tmp_path, io.StringIO())

    assert "define(" in extension.read_text()
    assert "define(" not in cached.read_text()


def test_a_torchvision_without_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DeployError, match=r"extension\.py"):
        pytorch.declare_operators(tmp_path, io.StringIO())


@pytest.mark.parametrize(
    ("installed", "offered", "is_taken"),
    [
        ({}, "would install", True),
        ({"torch": "2.13.0+cpu"}, None, True),
        ({"torch": "2.13.0"}, None, False),
        ({}, None, False),
    ],
    ids=["offered", "there", "other", "neither"],
)
def test_pytorch_without_cuda_is_taken_where_it_can_be_had(
    plan: Plan,
    monkeypatch: pytest.MonkeyPatch,
    installed: dict[str, str],
    offered: str | None,
    is_taken: bool,
) -> None:
    monkeypatch.setenv(SETTING, f"https://pypi.org/simple {plan.prefix}")
    monkeypatch.setattr(pytorch, "installed_packages", lambda *_: installed)
    monkeypatch.setattr(uv, "ask_pip", lambda *_: offered)
    monkeypatch.setattr(uv, "locked", lambda *_: LOCKED)
    monkeypatch.setattr(pytorch, "declare_operators", lambda *_: None)
    taken: list[str] = []
    monkeypatch.setattr(
        pytorch, "install_environment", lambda plan, name, log, lock: taken.append(lock)
    )

    pytorch.install_pytorch(plan, io.StringIO())

    (lock,) = taken
    without_cuda = {"torch": "2.13.0+cpu", "torchvision": "0.28.0"}
    assert uv.read_pins(lock) == (without_cuda if is_taken else uv.read_pins(LOCKED))


def test_the_ordinary_index_is_not_asked_for_what_it_never_has(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(SETTING, raising=False)
    monkeypatch.setattr(pytorch, "installed_packages", lambda *_: {})
    monkeypatch.setattr(uv, "ask_pip", lambda *argv: pytest.fail(f"asked: {argv}"))

    assert pytorch.build_without_cuda(plan, io.StringIO()) == ""


def test_a_python_for_which_there_is_one_build_gets_that(plan: Plan) -> None:
    for file in plan.recipes_dir.glob("torch-cpu-*.txt"):
        file.unlink()

    assert pytorch.build_without_cuda(plan, io.StringIO()) == ""
