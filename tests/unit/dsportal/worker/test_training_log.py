from __future__ import annotations

import json
import logging
import sys
from types import SimpleNamespace

import pytest

from dsportal.rendezvous import torch_writers
from dsportal.worker import training_log
from dsportal.worker.training_log import TrainingLog


class Mlflow:
    """What is used of MLflow; tests/lab/optional/test_mlflow.py has the real one."""

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
    monkeypatch.setattr(training_log, "time", SimpleNamespace(monotonic=lambda: clock.now_s))
    return clock


@pytest.fixture(autouse=True)
def logger(monkeypatch):
    """That of MLflow's thread, as a new process has it."""
    logger = logging.getLogger("mlflow.utils.async_logging.async_logging_queue")
    monkeypatch.setattr(logger, "filters", [])
    return logger


def use(monkeypatch, mlflow: Mlflow) -> Mlflow:
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    return mlflow


def test_loss_and_rate_are_logged_once_a_second(monkeypatch, clock):
    mlflow = use(monkeypatch, Mlflow())
    log = TrainingLog()

    log.note(1, 10, 2.0)
    log.note(2, 10, 1.5)
    clock.now_s += 2
    log.note(3, 10, 1.0)

    assert mlflow.logged == [
        ("7", "loss", 2.0, 1),
        ("7", "images_per_s", 10.0, 3),
        ("7", "loss", 1.0, 3),
    ]


def test_the_loss_of_the_last_step_is_logged_however_soon_it_comes(monkeypatch, clock):
    mlflow = use(monkeypatch, Mlflow())
    log = TrainingLog()

    for step in (1, 2, 3):
        log.note(step, 10, 3.0 - step, n_steps=3)

    assert mlflow.logged == [("7", "loss", 2.0, 1), ("7", "loss", 0.0, 3)]


def test_calls_are_counted_where_no_step_is_given(monkeypatch, clock):
    mlflow = use(monkeypatch, Mlflow())
    log = TrainingLog()

    log.note(None, 0, 2.0)
    clock.now_s += 1
    log.note(None, 0, 1.0)

    assert [step for *_, step in mlflow.logged] == [1, 2]


def test_without_a_run_the_loss_is_not_looked_at(monkeypatch, clock):
    use(monkeypatch, Mlflow(run_id=""))

    TrainingLog().note(1, 0, Refuses())


def test_without_mlflow_nothing_is_logged(monkeypatch, clock):
    monkeypatch.delitem(sys.modules, "mlflow", raising=False)

    TrainingLog().note(1, 0, Refuses())


def test_a_training_goes_on_where_mlflow_fails_and_it_is_told_once(monkeypatch, clock, capsys):
    use(monkeypatch, Mlflow()).log_metric = None
    log = TrainingLog()

    for step in (1, 2, 3):
        clock.now_s += 1
        log.note(step, 0, 1.0)

    (told,) = capsys.readouterr().err.splitlines()
    assert "not logged to MLflow: 'NoneType' object is not callable." in told
    assert "The training continues." in told


def test_what_the_thread_of_mlflow_cannot_write_is_told_once(monkeypatch, clock, capsys, logger):
    use(monkeypatch, Mlflow())
    log = TrainingLog()
    log.note(1, 0, 1.0)
    cause = "[Errno 28] No space left on device: '/home/ada/mlruns'"

    for _ in range(3):
        logger.error(f"Run Id 7: Failed to log run data: Exception: {cause}")
    logger.error("Something else.")

    told = capsys.readouterr().err
    assert told.count(f"not logged to MLflow: {cause}. The training continues.") == 1
    assert "Run Id" not in told


@pytest.mark.parametrize("reports", [True, False])
def test_the_list_of_runs_is_told_where_the_first_run_is(monkeypatch, clock, tmp_path, reports):
    use(monkeypatch, Mlflow())
    log = TrainingLog()
    log.tell(tmp_path / "mlflow.json")

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
    log = TrainingLog()
    log.tell(tmp_path / "gone/mlflow.json")

    log.note(1, 0, 1.0)
    log.finish()

    assert mlflow.logged == [("7", "loss", 1.0, 1)]


class Summary:
    """What is used of tf.summary."""

    def __init__(self, *, has_writer: bool = True) -> None:
        self.has_writer = has_writer
        self.logged: list[tuple[object, ...]] = []

    def should_record_summaries(self) -> bool:
        return self.has_writer

    def scalar(self, name: str, value: float, *, step: int) -> None:
        self.logged.append((name, value, step))


class SummaryWriter:
    """What is used of PyTorch's."""

    def __init__(self) -> None:
        self.all_writers: dict[str, object] | None = {}
        self.logged: list[tuple[object, ...]] = []

    def add_scalar(self, name: str, value: float, *, global_step: int) -> None:
        self.logged.append((name, value, global_step))

    def close(self) -> None:
        self.all_writers = None


@pytest.fixture
def torch_writer(monkeypatch):
    """PyTorch's class as a rank finds it."""
    monkeypatch.setattr(torch_writers, "_writers", [])
    module = SimpleNamespace(SummaryWriter=type("SummaryWriter", (SummaryWriter,), {}))
    torch_writers.remember_writers(module)
    return module.SummaryWriter


def test_tensorflows_default_writer_gets_loss_and_rate(monkeypatch, clock):
    summary = Summary()
    monkeypatch.setitem(sys.modules, "tensorflow", SimpleNamespace(summary=summary))
    log = TrainingLog()

    log.note(1, 10, 2.0)
    clock.now_s += 2
    log.note(3, 20, 1.0)

    assert summary.logged == [
        ("report/loss", 2.0, 1),
        ("report/images_per_s", 10.0, 3),
        ("report/loss", 1.0, 3),
    ]


def test_without_a_default_writer_the_loss_is_not_looked_at(monkeypatch, clock):
    modules = SimpleNamespace(summary=Summary(has_writer=False))
    monkeypatch.setitem(sys.modules, "tensorflow", modules)

    TrainingLog().note(1, 0, Refuses())


def test_a_tensorflow_that_is_being_imported_ends_no_training(monkeypatch, clock):
    monkeypatch.setitem(sys.modules, "tensorflow", SimpleNamespace())

    TrainingLog().note(1, 0, Refuses())


def test_pytorchs_newest_open_writer_gets_them(monkeypatch, clock, torch_writer):
    first, second = torch_writer(), torch_writer()
    log = TrainingLog()

    log.note(1, 0, 2.0)
    second.close()
    clock.now_s += 1
    log.note(2, 0, 1.0)
    first.close()
    clock.now_s += 1
    log.note(3, 0, Refuses())

    assert second.logged == [("report/loss", 2.0, 1)]
    assert first.logged == [("report/loss", 1.0, 2)]


def test_a_writer_that_is_gone_is_not_kept(clock, torch_writer):
    torch_writer()

    TrainingLog().note(1, 0, Refuses())


def test_mlflow_and_tensorboard_get_the_same_and_one_may_fail(monkeypatch, clock, torch_writer):
    mlflow = use(monkeypatch, Mlflow())
    writer = torch_writer()
    log = TrainingLog()

    log.note(1, 0, 2.0)
    mlflow.log_metric = None
    clock.now_s += 1
    log.note(2, 0, 1.0)

    assert mlflow.logged == [("7", "loss", 2.0, 1)]
    assert writer.logged == [("report/loss", 2.0, 1), ("report/loss", 1.0, 2)]


class Refuses:
    def __float__(self) -> float:
        pytest.fail("it was looked at")
