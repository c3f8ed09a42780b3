"""What is looked at before a job, and what each fault means to the user and to the site."""

from dataclasses import replace
from typing import Any

import pytest

from spawner.client.preflight import OnFailure, Preflight, SharedStorage
from spawner.errors import PreflightError


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
