"""The verbs of sessions, against a hub that gives the answers of a test."""

from __future__ import annotations

import asyncio
import json
import webbrowser
from collections.abc import AsyncIterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import tornado.web
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets

from portal.laptop import sessions
from portal.laptop.cli import main

TOKEN = "right"
WAITING = {
    "message": "All GPUs are in use.",
    "facts": [{"name": "Place", "text": "2nd", "times": []}],
}
READY = {"ready": True, "message": "Server ready at /hub2/user/ada/", "url": "/hub2/user/ada/"}
FAILED = {"failed": True, "message": "Spawn failed: The node was lost. Start again."}


class Hub:
    """What it answers, and what it was asked."""

    def __init__(self) -> None:
        self.url = ""
        self.servers: dict[str, Any] = {}
        self.refusal = ""
        # A list for each connection; the last one says nothing more, and stays.
        self.streams: list[list[dict[str, Any]]] = []
        self.asked: list[tuple[str, str, str]] = []

    def look(self) -> dict[str, Any]:
        """Return the sessions; one that stops is gone with the second look after this one."""
        shown = deepcopy(self.servers)
        for name, one in shown.items():
            if one["pending"] == "stop":
                self.servers[name]["pending"] = "stops soon"
            elif one["pending"] == "stops soon":
                one["pending"] = "stop"
                del self.servers[name]
        return shown

    async def run(self, *argv: str) -> int:
        return await asyncio.to_thread(main, argv)


class Api(tornado.web.RequestHandler):
    def initialize(self, hub: Hub) -> None:
        self.hub = hub

    def prepare(self) -> None:
        if self.request.headers["Authorization"] != f"token {TOKEN}":
            self.set_status(403)
            self.finish({"message": "You are not signed in."})

    async def get(self, path: str) -> None:
        if path == "user":
            self.finish({"name": "ada", "servers": self.hub.look()})
            return
        stream = self.hub.streams.pop(0)
        for event in stream:
            self.write(f"data: {json.dumps(event)}\n\n")
        await self.flush()
        if stream == [WAITING] and not self.hub.streams:
            await asyncio.Event().wait()

    def post(self, path: str) -> None:
        self.hub.asked.append(("POST", path, self.request.body.decode()))
        if self.hub.refusal or self.hub.servers:
            self.set_status(400)
            self.finish({"message": self.hub.refusal})
        else:
            self.set_status(202)

    def delete(self, path: str) -> None:
        self.hub.asked.append(("DELETE", path, ""))
        name = path.partition("servers/")[2]
        self.hub.servers[name]["pending"] = "stop"
        self.set_status(202)


@pytest.fixture
async def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Hub]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sessions, "_PAUSE_S", 0)
    monkeypatch.setattr(sessions, "_LOOK_AGAIN_S", 0)
    monkeypatch.setattr(sessions, "_WHY_QUIET_S", 0.3)
    hub = Hub()
    (listening,) = bind_sockets(0, "127.0.0.1")
    server = HTTPServer(tornado.web.Application([(r"/hub2/hub/api/(.*)", Api, {"hub": hub})]))
    server.add_socket(listening)
    hub.url = f"http://127.0.0.1:{listening.getsockname()[1]}/hub2"
    yield hub
    server.stop()
    await server.close_all_connections()


@pytest.fixture
async def ada(hub: Hub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Hub:
    give_token(monkeypatch, TOKEN)
    assert await hub.run("login", hub.url) == 0
    capsys.readouterr()
    return hub


def give_token(monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("getpass.getpass", lambda _prompt: token)


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


@pytest.mark.parametrize(
    ("refusal", "streams", "words"),
    [
        ("4 GPUs is the limit.", [], "dsportal-ssh: 4 GPUs is the limit.\n"),
        ("", [[FAILED]], "dsportal-ssh: The node was lost. Start again.\n"),
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

    assert "Start it: dsportal-ssh.pyz start" in capsys.readouterr().err
    assert ada.asked == []


@pytest.mark.parametrize("argv", [(), ("sart",), ("start", "--gpu=1", "more")])
def test_wrong_usage_exits_with_2(argv: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(argv)

    assert ended.value.code == 2
