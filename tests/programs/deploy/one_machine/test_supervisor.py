"""Daemons of the demo, by a supervisor of the tests' own."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.common.errors import DeployError
from deploy.one_machine import layout, supervisor
from deploy.one_machine.supervisor import (
    DaemonEndedError,
    ensure_started,
    forget,
    pid_of,
    shut_down,
    stop,
    wait_ready,
)
from tests.support.eventually import eventually

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="daemons are started by root only"),
    pytest.mark.skipif(shutil.which("supervisord") is None, reason="needs supervisor"),
]
PROGRAM = """\
command = sh -c "@SCRIPT@"
environment = READ_AT_START="@READ_AT_START@"
stopwaitsecs = 1
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The only folder of a supervisor, which ends with the test."""
    templates = tmp_path / "templates"
    shutil.copytree(layout.TEMPLATES_DIR, templates)
    (templates / "programs/script.conf").write_text(PROGRAM)
    shutil.copy(layout.TEMPLATES_DIR.parent / "namespace.py", tmp_path)
    places = {
        "RUN_DIR": tmp_path,
        "LOG_DIR": tmp_path / "log",
        "SUPERVISOR_DIR": tmp_path / "state",
        "NAMESPACE": tmp_path / "state/namespace.py",
        "TEMPLATES_DIR": templates,
    }
    for name, path in places.items():
        monkeypatch.setattr(layout, name, path)
        monkeypatch.setattr(supervisor, name, path)
    monkeypatch.setattr(supervisor, "PROGRAMS_DIR", tmp_path / "state/programs")
    monkeypatch.setattr(supervisor, "CONFIGURATION", tmp_path / "state/supervisord.conf")
    monkeypatch.setattr(supervisor, "SOCKET", tmp_path / "supervisor.sock")
    yield tmp_path
    shut_down()


def start(script: str, *read_at_start: Path, name: str = "daemon") -> bool:
    return ensure_started(name, "script", read_at_start=read_at_start, SCRIPT=script)


def has_ended(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status")
    # In the list until its parent has waited for it.
    return not status.exists() or "\nState:\tZ" in status.read_text()


def test_a_daemon_that_runs_is_not_started_again(folder: Path) -> None:
    assert start("exec sleep 60")
    pid = pid_of("daemon")

    assert pid is not None
    assert not start("exec sleep 60")
    assert pid_of("daemon") == pid


def test_changed_settings_start_a_daemon_again(folder: Path) -> None:
    settings = folder / "settings"
    settings.write_text("one")
    start("exec sleep 60", settings)
    pid = pid_of("daemon")

    settings.write_text("two")

    assert start("exec sleep 60", settings)
    assert pid is not None
    assert has_ended(pid)
    assert pid_of("daemon") is not None


def test_a_daemon_that_died_stays_down_until_it_is_started_again(folder: Path) -> None:
    start("exec sleep 60")
    pid = pid_of("daemon")
    assert pid is not None
    os.kill(pid, signal.SIGKILL)

    eventually(lambda: pid_of("daemon") is None, timeout_s=10)
    assert start("exec sleep 60")
    assert pid_of("daemon") not in {None, pid}


def test_stopping_ends_the_daemon(folder: Path) -> None:
    start("exec sleep 60")
    pid = pid_of("daemon")

    assert stop("daemon")
    assert pid is not None
    assert has_ended(pid)
    assert pid_of("daemon") is None
    assert not stop("daemon")


def test_a_daemon_that_ignores_the_signal_is_killed(folder: Path) -> None:
    ready = folder / "ready"
    start(f"trap '' TERM; touch {ready}; while :; do sleep 60; done")
    wait_ready("daemon", ready.exists, timeout_s=5)

    assert stop("daemon")
    assert pid_of("daemon") is None


def test_a_daemon_that_ends_at_once_is_reported_with_its_last_words(folder: Path) -> None:
    start("echo no such database >&2; sleep 0.2; exit 1")

    with pytest.raises(DaemonEndedError, match="no such database") as caught:
        wait_ready("daemon", lambda: False, timeout_s=5)

    assert caught.value.log == folder / "log/daemon.log"


def test_a_program_that_is_not_there_is_reported(folder: Path) -> None:
    (layout.TEMPLATES_DIR / "programs/lost.conf").write_text("command = /no/such-program\n")

    with pytest.raises(DeployError, match=r"lost could not be started: .*/no/such-program"):
        ensure_started("lost")


def test_only_root_reads_the_log_and_the_settings_of_a_daemon(folder: Path) -> None:
    start("exec sleep 60")

    for path in ("log/daemon.log", "state/programs/daemon.conf"):
        assert (folder / path).stat().st_mode & 0o077 == 0


def test_a_daemon_gets_nothing_of_the_callers_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    monkeypatch.setenv("PORTAL_DEMO_PASSWORD", "secret-of-the-caller")
    start("env; umask; pwd; echo end; exec sleep 60")
    log = folder / "log/daemon.log"
    eventually(lambda: "end" in log.read_text(), timeout_s=10)

    assert "PATH=/usr/local/sbin" in log.read_text()
    assert "/somewhere" not in log.read_text()
    assert "secret-of-the-caller" not in log.read_text()
    assert log.read_text().splitlines()[-3:] == ["0022", "/", "end"]


def test_the_folder_of_the_logs_is_made_again_where_somebody_took_it_away(folder: Path) -> None:
    start("exec sleep 60", name="first")
    shutil.rmtree(folder / "log")

    assert start("exec sleep 60")
    assert pid_of("daemon") is not None


def test_a_daemon_that_is_forgotten_ends_and_is_not_known_any_more(folder: Path) -> None:
    start("exec sleep 60")

    forget("daemon")

    assert pid_of("daemon") is None
    assert not (folder / "state/programs/daemon.conf").exists()


def test_what_a_killed_supervisor_left_is_ended_before_anything_is_started(folder: Path) -> None:
    start("exec sleep 60")
    pid = pid_of("daemon")
    os.kill(int((folder / "supervisord.pid").read_text()), signal.SIGKILL)
    assert pid is not None
    eventually(lambda: pid_of("daemon") is None, timeout_s=10)

    assert start("exec sleep 60")

    assert has_ended(pid)
    assert pid_of("daemon") is not None


def test_a_node_is_its_process_1_and_ends_with_all_that_runs_on_it(folder: Path) -> None:
    inside = folder / "state/namespace.py"
    (layout.TEMPLATES_DIR / "programs/part.conf").write_text(
        "command = unshare --uts --mount --propagation slave --pid --fork --kill-child "
        f"/usr/bin/python3 -I {inside} --node simulated:1 -- sleep 61\nstopasgroup = true\n"
    )
    ensure_started("part")

    def program() -> int | None:
        pid = pid_of("part")
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return int(children[0]) if children else None

    on_it = eventually(program, timeout_s=10)
    assert stop("part")
    assert has_ended(on_it)
