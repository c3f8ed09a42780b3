"""What is looked at before a job, and what each fault means to the user and to the site."""

from __future__ import annotations

import errno
import os
import pwd
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spawner.client.preflight import OnFailure, Preflight, SharedStorage
from spawner.errors import PreflightError
from spawner.programs import storage_checks as probe


def test_nothing_wrong_says_nothing() -> None:
    assert Preflight().assess({"home": {"fault": "", "free_mib": 900}}) == []


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({"fault": "full", "free_mib": 3}, "is full: 3 MiB are free in it. Clean up"),
        (
            {"fault": "full", "detail": "Disk quota exceeded"},
            'is full ("Disk quota exceeded"). Clean up',
        ),
        (
            {"fault": "unwritable", "detail": "Read-only file system"},
            'cannot be written ("Read-only file system"). Tell the administrators.',
        ),
        ({"fault": "no-answer"}, "did not answer within 3 s. Try again in a few minutes"),
        (
            {"fault": "missing", "path": "/home/ada"},
            "Your home folder, /home/ada, does not exist. Ask the administrators to make it.",
        ),
        (
            {"fault": "failed", "detail": "KeyError: 'x'"},
            "could not be checked: the check itself failed (\"KeyError: 'x'\"). Tell the admin",
        ),
        ({"fault": "of a later release"}, "could not be checked"),
    ],
)
def test_a_fault_of_the_home_refuses_the_session_and_names_the_cure(
    found: dict[str, Any], words: str
) -> None:
    with pytest.raises(PreflightError) as caught:
        Preflight().assess({"home": found})

    assert str(caught.value).startswith("Your home folder")
    assert words in str(caught.value)
    assert caught.value.needs_rescue is (found["fault"] == "full")


def test_the_site_decides_what_only_warns() -> None:
    isilon = SharedStorage(name="isilon", path="/srv/isilon")
    preflight = Preflight(shared=(isilon,))

    (warning,) = preflight.assess({"shared:isilon": {"fault": "no-answer"}})

    assert warning.startswith("The shared storage, /srv/isilon, did not answer within 3 s.")
    strict = Preflight(shared=(replace(isilon, weight=OnFailure.REFUSE),))
    with pytest.raises(PreflightError):
        strict.assess({"shared:isilon": {"fault": "no-answer"}})


def test_the_launcher_is_told_what_keeps_a_job_from_being_submitted() -> None:
    request_json = Preflight(
        shared=(
            SharedStorage(name="isilon", path="/srv/isilon"),
            SharedStorage(name="scratch", path="/scratch", weight=OnFailure.REFUSE),
            SharedStorage(name="tape", path="/tape", weight=OnFailure.OFF),
        ),
        server_path="/opt/server",
    ).request_json()

    names = ["home", "shared:isilon", "shared:scratch", "server", "timeout_s"]
    assert list(request_json["checks"]) == names
    assert request_json["refuse"] == ["home", "shared:scratch"]


def test_what_is_off_or_has_no_path_is_not_looked_at() -> None:
    request_json = Preflight(home=OnFailure.OFF, server_path="/opt/server").request_json()

    assert request_json["checks"] == {"server": {"path": "/opt/server"}, "timeout_s": 3.0}
    assert Preflight(home=OnFailure.OFF).request_json() == {}


def test_a_rescue_session_minds_no_full_home() -> None:
    checks = Preflight(min_free_mib=2**40).request(is_rescue=True)

    assert probe.check_home(checks["home"])["fault"] == ""
    assert probe.check_home({"min_free_mib": 2**40})["fault"] == "full"


@pytest.mark.parametrize(("number", "knows_room"), [(errno.EDQUOT, False), (errno.ENOSPC, True)])
def test_room_that_a_quota_keeps_from_the_user_is_not_called_free(
    number: int, knows_room: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(probe.os, "fsync", fail)

    found = probe.check_home({"min_free_mib": 16})

    assert (found["fault"], "free_mib" in found) == ("full", knows_room)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    account = pwd.struct_passwd(("ada", "x", 1, 1, "", f"{tmp_path}/closed/ada", "/bin/sh"))
    monkeypatch.setattr(probe.pwd, "getpwuid", lambda _: account)
    return Path(account.pw_dir)


def test_a_home_that_does_not_exist_is_missing(home: Path) -> None:
    # A parent in which not even root can make a folder.
    home.parent.touch()

    assert probe.check_home({"min_free_mib": 16}) == {"fault": "missing", "path": str(home)}


def test_a_home_is_good_whose_file_system_does_not_say_how_much_is_free(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Path) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(probe.os, "statvfs", fail)

    assert probe.check_home({"min_free_mib": 16}) == {"fault": ""}


@pytest.mark.parametrize("name", sorted(probe.CHECKS))
def test_a_check_that_fails_itself_says_so_and_is_not_called_silent(name: str) -> None:
    # None of them can do anything without its parameters.
    (found,) = probe.look({name: {"path": 7j, "min_free_mib": ""}}, timeout_s=30).values()

    assert found["fault"] == "failed"
    assert "Error: " in found["detail"]


def test_a_check_that_hangs_is_given_up_and_holds_nobody() -> None:
    program = (
        "import sys, time; sys.path.insert(0, sys.argv[1])\n"
        "from spawner.programs import storage_checks\n"
        "storage_checks.CHECKS['home'] = lambda what: time.sleep(600)\n"
        "storage_checks.os.kill = lambda pid, _: print('killed', pid)\n"
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
