"""What a run leaves behind if it cannot start; how it runs is in tests/programs."""

import functools
from pathlib import Path
from threading import Lock

import pytest

from dsportal import LaunchError, SessionError, StepError, run
from dsportal.launch import commands


def test_a_function_that_cannot_be_sent_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setattr(commands, "check_srun", lambda: None)
    lock = Lock()

    with pytest.raises(LaunchError, match="cannot be sent"):
        run(lambda: lock, gpus=1)

    assert list((tmp_path / "portal-runs").iterdir()) == []


@pytest.mark.parametrize(
    ("error", "n_folders"),
    [
        (SessionError("You asked for 3 nodes; the partition has 2."), 0),
        (StepError("You asked for 5 GPUs on 1 node, but no node has more.", is_refused=True), 0),
        # The job may be in the queue all the same.
        (StepError("Slurm is not responding."), 1),
    ],
)
def test_a_job_that_slurm_refuses_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: LaunchError, n_folders: int
) -> None:
    def refuse(*_: object) -> int:
        raise error

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setattr(commands, "check_srun", lambda: None)
    monkeypatch.setattr(commands, "submit", refuse)

    with pytest.raises(type(error)):
        run(print, gpus=1, wait=False)

    assert len(list((tmp_path / "portal-runs").iterdir())) == n_folders


def two(first: object, *, depth: int = 1) -> None:
    """What a user might train."""


@pytest.mark.parametrize(
    ("function", "arguments", "words"),
    [
        (two, {"first": 1, "gpu": 2}, r"keyword argument 'gpu'\. run\(\) takes gpus\."),
        (two, {"first": 1, "node": 2}, r"run\(\) takes nodes\."),
        (two, {}, r"two\(\) cannot be called: missing a required argument: 'first'\.$"),
        (two, {"first": 1, "xyz": 2}, r"keyword argument 'xyz'\.$"),
    ],
)
def test_an_argument_that_the_function_does_not_take_is_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, function: object, arguments: dict[str, int], words: str
) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "7")

    with pytest.raises(LaunchError, match=words):
        run(function, gpus=1, **arguments)


def test_a_decorator_may_pass_on_other_arguments_than_it_gets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @functools.wraps(two)
    def decorated(*_: object) -> None:
        two(1)

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setattr(commands, "check_srun", lambda: None)
    monkeypatch.setattr(commands, "submit", lambda *_: 41)

    assert run(decorated, gpus=1, wait=False).job_id == 41


@pytest.mark.parametrize(
    ("words", "named", "says"),
    [
        ((), {"lr": 0.1}, r"takes its values by parameters=\{\.\.\.\}, and got lr"),
        ((3,), {}, "and got 3"),
        ((), {"parameters": {"a b": 1}}, "cannot be the name of a variable"),
        ((), {}, "does not know the portal's command"),
    ],
)
def test_a_notebook_that_cannot_be_a_job_leaves_no_folder(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[object, ...],
    named: dict[str, object],
    says: str,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("PORTAL_COMMANDS", raising=False)
    notebook = tmp_path / "train.ipynb"
    notebook.write_text('{"cells": [], "metadata": {"kernelspec": {"name": "python3"}}}')

    with pytest.raises(LaunchError, match=says):
        run(str(notebook), *words, gpus=1, **named)

    assert not (tmp_path / "portal-runs").exists()
