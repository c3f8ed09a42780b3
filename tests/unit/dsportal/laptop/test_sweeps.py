"""Sweeps from the laptop: what a session is asked, and its table until the end."""

import json

import pytest

from tests.unit.dsportal.laptop.conftest import Hub

TABLE = {"name": "digits", "words": "2 points: 1 done, 1 running", "rows": [], "is_going_on": True}
ENDED = {**TABLE, "words": "2 points: 2 done", "is_going_on": False}


@pytest.fixture
def running(ada: Hub) -> Hub:
    ada.run_session()
    return ada


async def test_values_of_one_parameter_become_points(
    running: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    running.answers["portal/api/sweeps"] = [{"name": "digits", "message": "2 points as job 7"}]
    words = ("-p", "lr=0.1", "-p", "lr=0.01", "-p", "word=a=b", "--as", "digits", "--gpus", "2")
    words += ("--mail",)

    assert await running.run("sweep", "new", "nets/digits.ipynb", *words) == 0

    assert capsys.readouterr().out == "2 points as job 7\n"
    ((_, _, body),) = running.asked
    asked = json.loads(body)
    assert asked["grid"] == {"lr": ["0.1", "0.01"], "word": ["a=b"]}
    assert (asked["path"], asked["name"], asked["gpus"]) == ("nets/digits.ipynb", "digits", 2)
    assert asked["mail"] is True
    assert await running.run("sweep", "new", "x.ipynb", "-p", "lr") == 1


async def test_a_table_is_followed_to_its_end_and_shown_when_it_changes(
    running: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    running.answers["portal/api/sweeps?name=a%20b"] = [TABLE, TABLE, ENDED]

    assert await running.run("sweep", "show", "--follow", "a b") == 0

    assert capsys.readouterr().out == f"{TABLE['words']}\n\n{ENDED['words']}\n"
    running.answers["portal/api/sweeps?name="] = [TABLE]
    assert await running.run("sweep", "show", "--json") == 0
    assert json.loads(capsys.readouterr().out) == TABLE


async def test_the_newest_is_stopped_unless_one_is_named(
    running: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    running.answers["portal/api/sweeps?name="] = [{"message": "digits: Stopped."}]

    assert await running.run("sweep", "stop") == 0

    assert running.asked == [("DELETE", "portal/api/sweeps", "")]
    assert capsys.readouterr().out == "digits: Stopped.\n"
