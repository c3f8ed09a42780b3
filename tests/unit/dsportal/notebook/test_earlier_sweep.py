from dataclasses import replace
from pathlib import Path

import pytest

from dsportal.errors import LaunchError
from dsportal.notebook.earlier_sweep import create_sweep, find_earlier, parse_rule
from dsportal.task.stopping import MedianStopping
from dsportal.task.sweep_folder import SweepRecord

RECORD = SweepRecord(function="train", source="ab", points=("lr=1", "lr=2"))


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def _sweep() -> None:
    create_sweep("first", RECORD, [{"lr": 1}, {"lr": 2}], None)


@pytest.mark.usefixtures("_sweep")
@pytest.mark.parametrize("source", ["ab", ""])
def test_the_same_call_continues_the_sweep_of_its_name(source: str) -> None:
    found = find_earlier("first", replace(RECORD, source=source), resume=False)

    assert found is not None
    assert found.name == "first"


@pytest.mark.usefixtures("_sweep")
@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"source": "cd"}, "another one: train has changed"),
        ({"function": "test"}, "its function was train and not test"),
        ({"points": ("lr=1", "lr=3")}, r"other points: not \(lr=3\), also \(lr=2\)"),
        ({"points": ("lr=2", "lr=1")}, "the same ones in another order"),
    ],
)
def test_another_function_or_grid_under_the_same_name_is_refused_with_what_differs(
    changed: dict[str, object], says: str
) -> None:
    with pytest.raises(LaunchError, match=says):
        find_earlier("first", replace(RECORD, **changed), resume=False)


@pytest.mark.usefixtures("_sweep")
@pytest.mark.parametrize("name", ["first", ""])
def test_resume_continues_with_a_function_that_has_changed_and_says_so(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert find_earlier(name, replace(RECORD, source="cd"), resume=True) is not None
    assert "Points that are done keep their results." in capsys.readouterr().out


@pytest.mark.usefixtures("_sweep")
def test_without_a_name_a_sweep_that_has_ended_is_not_continued() -> None:
    assert find_earlier("", RECORD, resume=False) is None


@pytest.mark.usefixtures("_sweep")
@pytest.mark.parametrize("name", ["second", ""])
def test_what_is_not_there_cannot_be_resumed(name: str) -> None:
    with pytest.raises(LaunchError, match=r"to resume|nothing to"):
        find_earlier(name, replace(RECORD, function="test"), resume=True)


@pytest.mark.parametrize("name", ["../x", "a b", ".hidden", "x" * 61, "a\n"])
def test_a_name_that_is_no_name_of_a_folder_is_refused(name: str) -> None:
    with pytest.raises(LaunchError, match="cannot be named"):
        find_earlier(name, RECORD, resume=False)


def test_a_folder_that_is_no_sweep_is_not_taken_for_one(tmp_path: Path) -> None:
    folder = tmp_path / "portal-runs/sweeps/first"
    folder.mkdir(parents=True)

    assert find_earlier("first", RECORD, resume=False) is None
    with pytest.raises(LaunchError, match="is no sweep"):
        create_sweep("first", RECORD, [], None)


class Pruner:
    """As those of Optuna look."""

    def prune(self, study: object, trial: object) -> bool:
        return True


def test_the_worst_points_are_stopped_by_the_median_or_by_a_pruner() -> None:
    pruner = Pruner()

    assert parse_rule(False) is None
    assert parse_rule(True) == MedianStopping()
    assert parse_rule(pruner) is pruner
    with pytest.raises(LaunchError, match="one of Optuna's pruners"):
        parse_rule("median")
