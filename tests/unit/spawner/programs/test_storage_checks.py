"""The program that looks at storage before a session, as the user; without a launcher."""

import errno
import os
import pwd
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spawner.client.preflight import Preflight
from spawner.programs import storage_checks
from spawner.space import choose_space, fault_of, space_checks


def test_a_rescue_session_minds_no_full_home() -> None:
    checks = Preflight(min_free_mib=2**40).request(is_rescue=True)

    assert storage_checks.check_home(checks["home"])["fault"] == ""
    assert storage_checks.check_home({"min_free_mib": 2**40})["fault"] == "full"


@pytest.mark.parametrize(("number", "knows_room"), [(errno.EDQUOT, False), (errno.ENOSPC, True)])
def test_room_that_a_quota_keeps_from_the_user_is_not_called_free(
    number: int, knows_room: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(storage_checks.os, "fsync", fail)

    found = storage_checks.check_home({"min_free_mib": 16})

    assert (found["fault"], "free_mib" in found) == ("full", knows_room)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    account = pwd.struct_passwd(("ada", "x", 1, 1, "", f"{tmp_path}/closed/ada", "/bin/sh"))
    monkeypatch.setattr(storage_checks.pwd, "getpwuid", lambda _: account)
    return Path(account.pw_dir)


def test_a_home_that_does_not_exist_is_missing(home: Path) -> None:
    # A parent in which not even root can make a folder.
    home.parent.touch()

    assert storage_checks.check_home({"min_free_mib": 16}) == {
        "fault": "missing",
        "path": str(home),
    }


def test_a_home_is_good_whose_file_system_does_not_say_how_much_is_free(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Path) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(storage_checks.os, "statvfs", fail)

    assert storage_checks.check_home({"min_free_mib": 16}) == {"fault": ""}


def test_the_space_of_a_folder_is_told(tmp_path: Path) -> None:
    checks = space_checks([str(tmp_path), "/nowhere/at/all"])

    found = storage_checks.answer(checks)

    space = choose_space(found, str(tmp_path))
    assert space is not None
    assert 0 < space.free_bytes < space.total_bytes
    assert fault_of(found, "/nowhere/at/all") == "missing"


@pytest.mark.parametrize(
    ("script", "is_quota"),
    [('[ "$1" = {} ] && echo 9000 10000', True), ("echo 1 2; exit 1", False)],
)
def test_the_sites_quota_program_counts_before_the_file_system_unless_it_fails(
    script: str, is_quota: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "quota"
    program.write_text(f"#!/bin/sh\n{script.format(tmp_path)}\n")
    program.chmod(0o755)
    monkeypatch.setattr(storage_checks, "QUOTA_PROGRAM", str(program))

    space = choose_space(storage_checks.answer(space_checks([str(tmp_path)])), str(tmp_path))

    assert space is not None
    assert (space.is_quota, space.total_bytes == 10000) == (is_quota, is_quota)


@pytest.mark.parametrize("name", ["home", "server", "shared", "space"])
def test_a_check_that_fails_itself_says_so_and_is_not_called_silent(name: str) -> None:
    # None of them can do anything without its parameters.
    (found,) = storage_checks.look({name: {"path": 7j, "min_free_mib": ""}}, timeout_s=30).values()

    assert found["fault"] == "failed"
    assert "Error: " in found["detail"]


def test_a_check_that_hangs_is_given_up_and_holds_nobody() -> None:
    program = (
        "import sys, time; sys.path.insert(0, sys.argv[1])\n"
        "from spawner.programs import storage_checks\n"
        "storage_checks.CHECKS['home'] = lambda what: time.sleep(600)\n"
        "storage_checks.os.killpg = lambda pid, _: print('killed', pid)\n"
        "print(storage_checks.look({'home': {}, 'server': {'path': '/bin/sh'}}, timeout_s=0.2))\n"
    )
    began = time.monotonic()

    done = subprocess.run(
        [sys.executable, "-c", program, str(Path(__file__).parents[4])],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert "{'home': {'fault': 'no-answer'}, 'server': {'fault': ''}}" in done.stdout
    os.kill(int(done.stdout.split()[1]), signal.SIGKILL)
    assert time.monotonic() - began < 30
