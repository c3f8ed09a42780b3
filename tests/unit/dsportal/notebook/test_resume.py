import os
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from dsportal.errors import LaunchError
from dsportal.notebook.resume import announce_resumed, copy_checkpoints, find_resumed
from dsportal.task.folder import RunFolder
from dsportal.task.plan import End
from tests.support import plans

PLAN = replace(plans.PLAN, working_dir="/home/ada")
SAVED = datetime(2026, 11, 20, 10, 41)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def earlier(home: Path) -> RunFolder:
    return make_run(home, "20261120-100000-train-aaaa", saved=True)


def make_run(home: Path, name: str, *, saved: bool, status: int = 0) -> RunFolder:
    folder = RunFolder(home / "portal-runs" / name)
    folder.path.mkdir(parents=True)
    folder.write_plan(PLAN)
    folder.write_end(End(status=status))
    if saved:
        folder.checkpoints.mkdir()
        (folder.checkpoints / "state.pt").write_text(name)
        os.utime(folder.checkpoints / "state.pt", (SAVED.timestamp(),) * 2)
    return folder


def test_the_newest_run_of_the_same_function_is_resumed_and_no_other(home, earlier):
    newest = make_run(home, "20261120-110000-train-bbbb", saved=True)
    make_run(home, "20261120-130000-pre-train-dddd", saved=True)

    assert find_resumed(True, "train").folder == newest


def test_the_line_names_the_run_its_state_and_the_time_of_its_checkpoint(earlier):
    line = announce_resumed(find_resumed(True, "train"))

    assert "20261120-100000-train-aaaa (done, checkpoint of 20 Nov, 10:41)" in line


def test_a_newest_run_without_a_checkpoint_is_said_with_those_that_have_one(home, earlier):
    make_run(home, "20261120-120000-train-cccc", saved=False, status=1)

    with pytest.raises(LaunchError) as refusal:
        find_resumed(True, "train")
    text = str(refusal.value)
    assert "20261120-120000-train-cccc (failed), has saved no checkpoint" in text
    assert "resume='aaaa'  20261120-100000-train-aaaa (done" in text


def test_a_run_is_resumed_by_its_id(home, earlier):
    make_run(home, "20261120-120000-train-cccc", saved=True)

    assert find_resumed("aaaa", "train").folder == earlier
    assert find_resumed("aaaa", "another_name_now").folder == earlier


@pytest.mark.parametrize(
    ("resume", "words"),
    [
        ("cccc", "20261120-120000-train-cccc (done), has saved no checkpoint"),
        ("zzzz", "There is no run 'zzzz'"),
        (3, "resume=3. Give True or the name of a run"),
    ],
)
def test_a_run_that_cannot_be_resumed_is_said(home, earlier, resume, words):
    make_run(home, "20261120-120000-train-cccc", saved=False)

    with pytest.raises(LaunchError) as refusal:
        find_resumed(resume, "train")
    assert words in str(refusal.value)


def test_nothing_to_resume_is_said(home):
    unfinished = make_run(home, "20261120-100000-train-aaaa", saved=False)
    (unfinished.checkpoints / ".new-x1").mkdir(parents=True)

    with pytest.raises(LaunchError, match="No earlier run of train has saved a checkpoint"):
        find_resumed(True, "train")


def test_what_a_run_saves_leaves_the_one_that_it_continues_as_it_is(home, earlier):
    (earlier.checkpoints / ".new-x1").mkdir()
    new = make_run(home, "20261120-120000-train-cccc", saved=False)
    copy_checkpoints(find_resumed("aaaa", "train"), new)
    assert [each.name for each in new.checkpoints.iterdir()] == ["state.pt"]

    # In place, as a function may that does not use `writing`.
    with (new.checkpoints / "state.pt").open("r+") as file:
        file.write("overwritten")
    assert (earlier.checkpoints / "state.pt").read_text() == earlier.name


def test_checkpoints_that_cannot_be_copied_are_said(home, earlier):
    new = make_run(home, "20261120-120000-train-cccc", saved=True)

    with pytest.raises(LaunchError, match="cannot be copied"):
        copy_checkpoints(find_resumed("aaaa", "train"), new)
