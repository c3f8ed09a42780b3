from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from portal.launch import checkpoint
from portal.launch.errors import LaunchError
from portal.launch.task.plan import Plan

PLAN = Plan(
    n_ranks=1,
    cores_per_rank=1,
    simulated_gpus=True,
    working_dir="/home/ada",
    module_paths=(),
    n_results=1,
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def make_run(home: Path, name: str, *, saved: bool) -> Path:
    folder = home / "portal-runs" / name
    folder.mkdir(parents=True)
    folder.joinpath("run.json").write_text(json.dumps(asdict(PLAN)))
    if saved:
        folder.joinpath("checkpoints").mkdir()
        folder.joinpath("checkpoints", "state.pt").touch()
    return folder / "checkpoints"


def test_the_newest_run_of_the_same_function_that_has_saved_is_resumed(home):
    make_run(home, "20261120-100000-train-aaaa", saved=True)
    newest = make_run(home, "20261120-110000-train-bbbb", saved=True)
    make_run(home, "20261120-120000-train-cccc", saved=False)
    make_run(home, "20261120-130000-pre-train-dddd", saved=True)

    assert checkpoint.find_checkpoints("train") == newest


def test_nothing_to_resume_is_said(home):
    make_run(home, "20261120-100000-train-aaaa", saved=False)

    with pytest.raises(LaunchError, match="No earlier run of train has saved a checkpoint"):
        checkpoint.find_checkpoints("train")


def test_a_checkpoint_outside_of_a_run_gets_a_sentence(monkeypatch):
    monkeypatch.delenv(checkpoint.CHECKPOINT_VARIABLE, raising=False)

    with pytest.raises(LaunchError, match="Checkpoints belong to a rank"):
        checkpoint.path("state.pt")


def test_there_is_no_latest_checkpoint_before_one_was_saved(tmp_path, monkeypatch):
    monkeypatch.setenv(checkpoint.CHECKPOINT_VARIABLE, str(tmp_path / "checkpoints"))

    assert checkpoint.latest("state.pt") is None
    checkpoint.path("state.pt").touch()
    assert checkpoint.latest("state.pt") == tmp_path / "checkpoints" / "state.pt"
