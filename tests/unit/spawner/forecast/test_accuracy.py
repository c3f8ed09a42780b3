"""How good forecasts were, and that a restart of the hub forgets nothing."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spawner.forecast.accuracy import ForecastRecord

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
FILE = "forecasts.json"


def minutes(n_minutes: float) -> datetime:
    return NOW + timedelta(minutes=n_minutes)


def test_forecasts_are_measured_by_the_actual_starts() -> None:
    record = ForecastRecord(None)
    for session, forecast, actual in (("a", 10, 8), ("b", 20, 21), ("c", 30, 60)):
        record.expect(session, minutes(forecast), made_at=NOW)
        record.start(session, minutes(actual))
    accuracy = record.accuracy
    assert accuracy is not None
    assert accuracy.n_sessions == 3
    assert accuracy.median_error_s == 120
    assert accuracy.median_late_s == 60


def test_sessions_that_started_at_once_as_foretold_do_not_flatter_the_forecast() -> None:
    record = ForecastRecord(None)
    record.expect("at once", NOW, made_at=NOW)
    record.start("at once", NOW + timedelta(seconds=1))
    assert record.accuracy is None
    record.expect("was to start at once", NOW, made_at=NOW)
    record.start("was to start at once", minutes(30))
    assert record.accuracy is not None
    assert record.accuracy.median_error_s == 1800


def test_only_the_first_forecast_of_a_session_counts() -> None:
    record = ForecastRecord(None)
    record.expect("a", minutes(60), made_at=NOW)
    record.expect("a", minutes(5), made_at=minutes(4))
    record.start("a", minutes(5))
    assert record.accuracy is not None
    assert record.accuracy.median_late_s == -55 * 60


def test_the_record_does_not_grow_without_end() -> None:
    record = ForecastRecord(None, n_sessions=5)
    for i in range(50):
        record.expect(f"waits {i}", minutes(10), made_at=NOW)
        record.expect(f"runs {i}", minutes(10), made_at=NOW)
        record.start(f"runs {i}", minutes(10 + i))
    assert record.accuracy is not None
    assert record.accuracy.n_sessions == 5
    record.start("waits 0", minutes(500))
    assert record.accuracy.median_error_s == 47 * 60


def test_forecasts_survive_a_restart_of_the_hub(tmp_path: Path) -> None:
    before = ForecastRecord(tmp_path / FILE)
    before.expect("done", NOW + timedelta(hours=1), made_at=NOW)
    before.expect("open", NOW + timedelta(hours=2), made_at=NOW)
    before.start("done", NOW + timedelta(hours=1, minutes=10))
    before.close()

    after = ForecastRecord(tmp_path / FILE)
    assert after.accuracy is not None
    assert (after.accuracy.n_sessions, after.accuracy.median_error_s) == (1, 600)
    after.start("open", NOW + timedelta(hours=2, minutes=30))

    assert (after.accuracy.n_sessions, after.accuracy.median_error_s) == (2, 1200)


def test_a_session_that_was_cancelled_or_is_not_known_does_not_count(tmp_path: Path) -> None:
    forecasts = ForecastRecord(tmp_path / FILE)
    forecasts.expect("gone", NOW + timedelta(hours=1), made_at=NOW)
    forecasts.forget("gone")
    forecasts.start("gone", NOW + timedelta(hours=2))
    forecasts.start("unknown", NOW + timedelta(hours=2))
    forecasts.close()

    assert ForecastRecord(tmp_path / FILE).accuracy is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"late_s": ["x"], "open": {}}', "null"])
def test_a_broken_file_begins_anew(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)

    assert ForecastRecord(tmp_path / FILE).accuracy is None


def test_a_file_that_cannot_be_written_loses_no_session(tmp_path: Path) -> None:
    forecasts = ForecastRecord(tmp_path / "missing" / "forecasts.json")
    forecasts.expect("0", NOW + timedelta(hours=1), made_at=NOW)
    forecasts.start("0", NOW)
    forecasts.close()

    assert forecasts.accuracy is not None
