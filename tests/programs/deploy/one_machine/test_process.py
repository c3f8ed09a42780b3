"""Daemons: what was started is found again, and nothing else is ever ended."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.one_machine import layout, pidfile, process
from deploy.one_machine.pidfile import (
    ProcessRecord,
    boot_id,
    format_record,
    parse_record,
    parse_start_ticks,
    pid_path,
    read_start_ticks,
    running,
)
from deploy.one_machine.process import Daemon, DaemonEndedError, ensure_started, stop, wait_ready

ACCOUNT = "root" if os.geteuid() == 0 else ""
RECORD = ProcessRecord(pid=42, start_ticks=1234, boot_id="abc", fingerprint="a b")
SLEEPER = Daemon(name="sleeper", argv=("sleep", "60"))


@pytest.fixture
def run_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if not ACCOUNT:
        pytest.skip("daemons are started by root only")
    for module in (layout, pidfile, process):
        monkeypatch.setattr(module, "RUN_DIR", tmp_path)
    monkeypatch.setattr(layout, "LOG_DIR", tmp_path)
    return tmp_path


@pytest.fixture
def sleeper(run_dir: Path) -> Iterator[Daemon]:
    ensure_started(SLEEPER)
    yield SLEEPER
    stop(SLEEPER)


def test_a_daemon_has_the_priority_that_it_is_given(run_dir: Path) -> None:
    daemon = Daemon(name="nice", argv=("sleep", "60"), nice=7)
    ensure_started(daemon)
    try:
        record = running("nice")
        assert record is not None
        assert os.getpriority(os.PRIO_PROCESS, record.pid) == 7
    finally:
        stop(daemon)


def test_a_pid_file_says_what_was_written() -> None:
    assert parse_record(format_record(RECORD)) == RECORD


@pytest.mark.parametrize("text", ["", "42\n", "42\nx\nabc\n\n", "x\n1\nabc\n\n"])
def test_a_damaged_pid_file_names_no_process(text: str) -> None:
    assert parse_record(text) is None


@pytest.mark.parametrize("name", ["sleep", "a b", "x) R 1 1", "((("])
def test_the_start_time_is_found_behind_any_program_name(name: str) -> None:
    after_state = " ".join(str(number) for number in range(4, 53))

    assert parse_start_ticks(f"7 ({name}) S {after_state}") == 22
    assert parse_start_ticks(f"7 ({name}) Z {after_state}") is None


def test_a_daemon_that_runs_is_not_started_again(sleeper: Daemon) -> None:
    before = running("sleeper")

    assert not ensure_started(sleeper)
    assert running("sleeper") == before


def test_changed_settings_start_a_daemon_again(sleeper: Daemon) -> None:
    before = running("sleeper")

    assert ensure_started(replace(sleeper, fingerprint="other settings"))
    assert before is not None
    assert running("sleeper") != before
    assert read_start_ticks(before.pid) != before.start_ticks


def test_stopping_ends_the_daemon_and_forgets_it(sleeper: Daemon) -> None:
    record = running("sleeper")

    assert stop(sleeper)
    assert record is not None
    assert read_start_ticks(record.pid) is None
    assert not pid_path("sleeper").exists()
    assert not stop(sleeper)


def test_a_daemon_that_ignores_the_signal_is_killed(run_dir: Path) -> None:
    ready = run_dir / "ready"
    ignore = f"trap '' TERM; touch {ready}; while :; do sleep 60; done"
    stubborn = Daemon(name="stubborn", argv=("sh", "-c", ignore), stop_timeout_s=0.2)
    ensure_started(stubborn)
    wait_ready("stubborn", ready.exists, timeout_s=5)

    assert stop(stubborn)
    assert running("stubborn") is None


@pytest.mark.parametrize("change", [{"start_ticks": 1}, {"boot_id": "another boot"}])
def test_a_process_that_got_the_number_later_is_left_alone(
    run_dir: Path, change: dict[str, object]
) -> None:
    with subprocess.Popen(["sleep", "60"]) as stranger:
        start_ticks = read_start_ticks(stranger.pid)
        assert start_ticks is not None
        record = ProcessRecord(pid=stranger.pid, start_ticks=start_ticks, boot_id=boot_id())
        pid_path("sleeper").write_text(format_record(replace(record, **change)))

        assert running("sleeper") is None
        assert not stop(SLEEPER)
        assert read_start_ticks(stranger.pid) == start_ticks
        stranger.send_signal(signal.SIGKILL)


def test_a_daemon_that_ends_at_once_is_reported_with_its_last_words(run_dir: Path) -> None:
    broken = Daemon(
        name="broken", argv=("sh", "-c", "echo no such database >&2; sleep 0.2; exit 1")
    )

    ensure_started(broken)
    with pytest.raises(DaemonEndedError, match="no such database") as caught:
        wait_ready("broken", lambda: False, timeout_s=5)

    assert caught.value.log == run_dir / "broken.log"


@pytest.mark.parametrize("writes_log", [False, True])
def test_the_folder_of_the_logs_is_made_again_where_somebody_took_it_away(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch, writes_log: bool
) -> None:
    monkeypatch.setattr(layout, "LOG_DIR", run_dir / "log")
    sleeper = replace(SLEEPER, writes_log=writes_log)

    assert ensure_started(sleeper)
    stop(sleeper)

    assert (run_dir / "log").is_dir()
    assert (run_dir / "log/sleeper.log").exists() is not writes_log


def test_only_its_account_reads_the_log_of_a_daemon(sleeper: Daemon, run_dir: Path) -> None:
    assert (run_dir / "sleeper.log").stat().st_mode & 0o777 == 0o600


def test_a_daemon_gets_nothing_of_the_callers_environment(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    monkeypatch.setenv("PORTAL_DEMO_PASSWORD", "secret-of-the-caller")
    done = run_dir / "done"
    teller = Daemon(name="teller", argv=("sh", "-c", f"env; touch {done}; exec sleep 60"))
    ensure_started(teller)
    wait_ready("teller", done.exists, timeout_s=5)
    stop(teller)

    told = (run_dir / "teller.log").read_text()
    assert "PATH=/usr/local/sbin" in told
    assert "/somewhere" not in told
    assert "secret-of-the-caller" not in told
