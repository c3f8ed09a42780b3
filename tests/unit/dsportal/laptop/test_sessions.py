"""The verbs of sessions, against a hub that gives the answers of a test."""

import json
import sys
import types
import webbrowser
from pathlib import Path
from typing import Any

import pytest

from dsportal.laptop import sessions
from tests.unit.dsportal.laptop.conftest import FAILED, READY, TOKEN, WAITING, Hub, give_token


async def test_a_token_is_kept_once_the_hub_accepts_it_and_only_for_its_owner(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / ".ssh/dsportal/gpu-session/token"

    give_token(monkeypatch, "wrong")
    assert await hub.run("login", hub.url) == 1
    assert not kept.exists()
    give_token(monkeypatch, TOKEN)
    assert await hub.run("login", hub.url) == 0

    assert kept.read_text() == f"{TOKEN}\n"
    assert kept.stat().st_mode & 0o777 == 0o600


class Keyring(types.ModuleType):
    """Python's package keyring with one backend."""

    priority = 5.0
    has_failed = False

    def __init__(self) -> None:
        super().__init__("keyring")
        self.kept: dict[tuple[str, str], str] = {}

    def get_keyring(self) -> "Keyring":
        return self

    def set_password(self, service: str, name: str, token: str) -> None:
        self.kept[service, name] = token

    def get_password(self, service: str, name: str) -> str | None:
        if self.has_failed:
            raise OSError("no bus")
        return self.kept.get((service, name))


@pytest.fixture
def keyring(monkeypatch: pytest.MonkeyPatch) -> Keyring:
    keyring = Keyring()
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    return keyring


async def test_a_keyring_keeps_the_token_in_place_of_a_file_unless_a_file_is_wanted(
    ada: Hub, tmp_path: Path, keyring: Keyring, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / ".ssh/dsportal/gpu-session/token"

    assert await ada.run("login", ada.url) == 0
    assert "in the keyring" in capsys.readouterr().out
    assert not kept.exists()
    assert TOKEN in keyring.kept.values()
    assert await ada.run("list") == 0
    keyring.has_failed = True
    assert await ada.run("list") == 1
    assert "--keep file" in capsys.readouterr().err

    assert await ada.run("login", "--keep", "file", ada.url) == 0
    assert str(kept) in capsys.readouterr().out
    assert await ada.run("list") == 0


@pytest.mark.parametrize(("priority", "has_failed"), [(0.5, False), (5.0, True)])
async def test_a_keyring_that_keeps_nothing_or_plain_text_is_none(
    ada: Hub, tmp_path: Path, keyring: Keyring, priority: float, has_failed: bool
) -> None:
    keyring.priority, keyring.has_failed = priority, has_failed

    assert await ada.run("login", ada.url) == 0
    assert (tmp_path / ".ssh/dsportal/gpu-session/token").exists()
    assert await ada.run("login", "--keep", "keyring", ada.url) == 1


async def test_ssh_finds_the_token_in_a_file_also_after_another_login(
    ada: Hub, tmp_path: Path, keyring: Keyring
) -> None:
    for verb in ("setup", "login"):
        assert await ada.run(verb, ada.url) == 0

        assert (tmp_path / ".ssh/dsportal/gpu-session/token").read_text() == f"{TOKEN}\n"
        assert keyring.kept == {}


async def test_a_start_sends_the_options_of_the_form_and_shows_the_wait_once(
    ada: Hub, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    # The hub restarts while the session waits.
    ada.streams = [[WAITING], [], [WAITING, READY]]

    assert await ada.run("start", "--gpus", "2", "--type", "v100", "--open") == 0

    options = json.dumps({"user_options": {"gpus": "2", "gpu_type": "v100"}})
    assert ada.asked == [("POST", "users/ada/server", options)]
    shown = capsys.readouterr()
    url = f"{ada.url}/user/ada/"
    assert shown.out == f"{url}\n"
    assert shown.err == "All GPUs are in use. (Place: 2nd)\n"
    assert opened == [url]


async def test_a_start_that_opens_vs_code_makes_it_the_first_page(ada: Hub) -> None:
    ada.streams = [[READY]]

    assert await ada.run("start", "--open", "vscode") == 0

    options = json.dumps({"user_options": {"opens": "VS Code"}})
    assert ada.asked == [("POST", "users/ada/server", options)]


async def test_a_shell_without_keys_is_refused_before_the_start(
    ada: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await ada.run("start", "--open", "ssh") == 1

    assert "not set up for ssh" in capsys.readouterr().err
    assert ada.asked == []


@pytest.mark.parametrize(
    ("refusal", "streams", "words"),
    [
        ("4 GPUs is the limit.", [], "dsportal: 4 GPUs is the limit.\n"),
        ("", [[FAILED]], "dsportal: The node was lost. Start again.\n"),
    ],
)
async def test_a_refused_start_says_what_the_hub_says(
    ada: Hub,
    capsys: pytest.CaptureFixture[str],
    refusal: str,
    streams: list[list[dict[str, Any]]],
    words: str,
) -> None:
    ada.refusal, ada.streams = refusal, streams

    assert await ada.run("start") == 1

    assert capsys.readouterr().err == words


async def test_a_hub_that_stays_away_leaves_the_session_waiting(
    ada: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    ada.streams = [[] for _ in range(50)]

    assert await ada.run("start") == 1

    assert "Your session may still wait." in capsys.readouterr().err
    assert [method for method, _, _ in ada.asked] == ["POST"]


async def test_an_interrupted_wait_says_that_the_session_waits_on(
    ada: Hub, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(sessions.Session, "wait", interrupt)

    assert await ada.run("start") == 130

    assert "Your session still waits." in capsys.readouterr().err
    assert [method for method, _, _ in ada.asked] == ["POST"]


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (WAITING, "All GPUs are in use. (Place: 2nd)"),
        (READY, "Your session runs: {url}/user/ada/"),
        (FAILED, "The node was lost. Start again."),
    ],
)
async def test_why_says_the_latest_that_the_hub_knows(
    ada: Hub, capsys: pytest.CaptureFixture[str], event: dict[str, Any], words: str
) -> None:
    ada.streams = [[event]]

    assert await ada.run("why") == 0

    assert capsys.readouterr().out == f"{words.format(url=ada.url)}\n"


@pytest.mark.parametrize("words", [("second",), ("--session", "second")])
async def test_why_is_said_of_the_session_that_is_named(
    ada: Hub, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    ada.streams = [[WAITING]]

    assert await ada.run("why", *words) == 0

    assert ada.streamed == ["users/ada/servers/second/progress"]
    assert capsys.readouterr().out == "All GPUs are in use. (Place: 2nd)\n"


async def test_sessions_are_listed_and_a_named_one_is_opened_and_stopped(
    ada: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    ada.servers = {
        "": {"pending": "spawn", "ready": False, "url": "/hub2/user/ada/"},
        "a b": {
            "pending": None,
            "ready": True,
            "url": "/hub2/user/ada/a%20b/",
            "user_options": {"gpus": 2},
        },
    }

    assert await ada.run("list", "--json") == 0
    listed = json.loads(capsys.readouterr().out)
    assert await ada.run("open", "--print", "--session", "a b") == 0
    assert await ada.run("stop", "--session", "a b") == 0

    assert [(one["name"], one["state"]) for one in listed] == [("", "waits"), ("a b", "runs")]
    assert listed[1]["options"] == {"gpus": 2}
    assert ada.asked == [("DELETE", "users/ada/servers/a b", "")]
    assert list(ada.servers) == [""], "it is gone"
    assert capsys.readouterr().out == f"{ada.url}/user/ada/a%20b/\nYour session has stopped.\n"


async def test_a_start_waits_for_the_session_that_is_stopping(ada: Hub) -> None:
    ada.servers = {"": {"pending": "stop", "ready": False, "url": "/hub2/user/ada/"}}
    ada.streams = [[READY]]

    assert await ada.run("start") == 0

    assert [method for method, _, _ in ada.asked] == ["POST"]


@pytest.mark.parametrize("verb", ["start", "stop"])
async def test_a_session_that_does_not_end_is_said_to_be_stopping_still(
    ada: Hub, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    ada.servers = {"": {"pending": "stop", "ready": False, "url": "/hub2/user/ada/"}}
    monkeypatch.setattr(Hub, "look", lambda hub: hub.servers)

    assert await ada.run(verb) == 1

    assert "still stopping" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["stop", "open"])
async def test_what_needs_a_session_says_how_to_start_one(
    ada: Hub, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    assert await ada.run(verb) == 1

    assert "Start it: dsportal start" in capsys.readouterr().err
    assert ada.asked == []
