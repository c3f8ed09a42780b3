from __future__ import annotations

import errno
import json
import sys
from types import SimpleNamespace

import pytest

from portal.launch.worker import mlflow_log
from portal.launch.worker.mlflow_log import MlflowLog


class Mlflow:
    """What is used of MLflow; tests/optional/test_mlflow.py has the real one."""

    def __init__(self, run_id: str = "7") -> None:
        self.logged: list[tuple[object, ...]] = []
        info = SimpleNamespace(run_id=run_id, experiment_id="0")
        self._run = SimpleNamespace(info=info) if run_id else None

    def active_run(self) -> SimpleNamespace | None:
        return self._run

    last_active_run = active_run

    def get_tracking_uri(self) -> str:
        return "file:///home/ada/mlruns"

    def MlflowClient(self) -> Mlflow:  # noqa: N802
        return self

    def log_metric(
        self, run_id: str, name: str, value: float, *, step: int, synchronous: bool
    ) -> None:
        assert not synchronous
        self.logged.append((run_id, name, value, step))


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now_s=100.0)
    monkeypatch.setattr(mlflow_log, "time", SimpleNamespace(monotonic=lambda: clock.now_s))
    return clock


def use(monkeypatch, mlflow: Mlflow) -> Mlflow:
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    return mlflow


def test_loss_and_rate_are_logged_once_a_second(monkeypatch, clock):
    mlflow = use(monkeypatch, Mlflow())
    log = MlflowLog()

    log.note(1, 10, 2.0)
    log.note(2, 10, 1.5)
    clock.now_s += 2
    log.note(3, 10, 1.0)

    assert mlflow.logged == [
        ("7", "loss", 2.0, 1),
        ("7", "images_per_s", 10.0, 3),
        ("7", "loss", 1.0, 3),
    ]


def test_calls_are_counted_where_no_step_is_given(monkeypatch, clock):
    mlflow = use(monkeypatch, Mlflow())
    log = MlflowLog()

    log.note(None, 0, 2.0)
    clock.now_s += 1
    log.note(None, 0, 1.0)

    assert [step for *_, step in mlflow.logged] == [1, 2]


def test_without_a_run_the_loss_is_not_looked_at(monkeypatch, clock):
    use(monkeypatch, Mlflow(run_id=""))

    MlflowLog().note(1, 0, Refuses())


def test_without_mlflow_nothing_is_logged(monkeypatch, clock):
    monkeypatch.delitem(sys.modules, "mlflow", raising=False)

    MlflowLog().note(1, 0, Refuses())


def test_a_training_goes_on_where_mlflow_fails(monkeypatch, clock):
    use(monkeypatch, Mlflow()).log_metric = None

    MlflowLog().note(1, 0, 1.0)


@pytest.mark.parametrize("reports", [True, False])
def test_the_list_of_runs_is_told_where_the_first_run_is(monkeypatch, clock, tmp_path, reports):
    use(monkeypatch, Mlflow())
    log = MlflowLog()
    log.link_path = tmp_path / "mlflow.json"

    if reports:
        log.note(1, 0, 1.0)
    use(monkeypatch, Mlflow("7" if not reports else "8"))
    log.finish()

    assert json.loads((tmp_path / "mlflow.json").read_text()) == {
        "tracking_uri": "file:///home/ada/mlruns",
        "experiment_id": "0",
        "run_id": "7",
    }


def test_what_is_reported_is_logged_where_the_list_cannot_be_told(monkeypatch, clock, tmp_path):
    mlflow = use(monkeypatch, Mlflow())
    log = MlflowLog()
    log.link_path = tmp_path / "gone/mlflow.json"

    log.note(1, 0, 1.0)
    log.finish()

    assert mlflow.logged == [("7", "loss", 1.0, 1)]


def test_a_training_goes_on_where_the_disk_is_full(monkeypatch, clock):
    mlflow = use(monkeypatch, Mlflow())

    def refuse(*arguments, **named):
        raise OSError(errno.ENOSPC, "No space left on device")

    mlflow.log_metric = refuse
    log = MlflowLog()

    log.note(1, 0, 1.0)
    log.finish()


class Refuses:
    def __float__(self) -> float:
        pytest.fail("it was looked at")
