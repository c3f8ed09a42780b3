"""How a point is compared with others; that it is stopped is in tests/programs."""

import sys
from pathlib import Path

import pytest

from dsportal.notebook.point_watch import PointWatch
from dsportal.task.plan import End
from dsportal.task.stopping import MedianStopping
from dsportal.task.sweep_folder import SweepFolder, SweepRecord
from dsportal.task.throughput import Throughput
from tests.support.plans import PLAN

RECORD = SweepRecord(function="train", source="", points=tuple("abcdef"))


class Step:
    """A step that was told to end, or was not."""

    is_told = False

    def tell_to_end(self) -> None:
        self.is_told = True


def point_of(tmp_path: Path, rule: object) -> SweepFolder:
    """Return a sweep of six points, of which five had a loss of 1."""
    folder = SweepFolder(tmp_path)
    folder.write(RECORD, [], rule)
    for index in range(6):
        folder.run(index).path.mkdir(parents=True)
    for index in range(5):
        folder.write_losses(index, dict.fromkeys(range(0, 105, 5), 1.0))
    folder.run(5).write_plan(PLAN)
    return folder


def pace(step: int, loss: float | None, n_steps: int = 10) -> Throughput:
    return Throughput(
        step=step, n_steps=n_steps, images_per_s=0, loss=loss, behind=(0,), silent_s=(0.0,)
    )


def test_a_point_that_is_stopped_as_one_of_the_worst_says_so(tmp_path: Path) -> None:
    folder, step = point_of(tmp_path, MedianStopping()), Step()
    watch = PointWatch(folder, 5)
    watch.begin(step)  # type: ignore[arg-type]

    watch.note(pace(3, 2.0))
    folder.run(5).write_end(End(status=143, was_stopped=True))

    assert step.is_told
    assert watch.finish()
    end = folder.run(5).read_end()
    assert end is not None
    assert end.word == "pruned"
    assert end.reason.startswith("Stopped at 30 % of its steps: its loss was 2, and most of the 5")


@pytest.mark.parametrize(
    "told",
    [
        pace(3, 0.5),
        # It reports no loss, or not of how many steps; or it is at its end.
        pace(3, None),
        pace(3, 2.0, n_steps=0),
        pace(10, 2.0),
    ],
)
def test_other_points_go_on(tmp_path: Path, told: Throughput) -> None:
    step = Step()
    watch = PointWatch(point_of(tmp_path, MedianStopping()), 5)
    watch.begin(step)  # type: ignore[arg-type]

    watch.note(told)

    assert not step.is_told
    assert not watch.finish()


def test_a_point_whose_own_end_came_first_keeps_it(tmp_path: Path) -> None:
    folder = point_of(tmp_path, MedianStopping())
    watch = PointWatch(folder, 5)
    watch.begin(Step())  # type: ignore[arg-type]

    watch.note(pace(3, 2.0))
    folder.run(5).write_end(End(status=0))

    assert not watch.finish()
    assert folder.run(5).read_end() == End(status=0)


def test_a_pruner_that_does_not_work_stops_no_training_and_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    step = Step()
    # As where the notebook's packages are not found.
    monkeypatch.setitem(sys.modules, "optuna", None)
    watch = PointWatch(point_of(tmp_path, "a pruner"), 5)
    watch.begin(step)  # type: ignore[arg-type]

    watch.note(pace(3, 2.0))

    assert not step.is_told
    assert not watch.finish()
    assert "so it is not stopped: ModuleNotFoundError" in capsys.readouterr().out
