"""A hub that gives the answers of a test, and a user who is logged in to it."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import tornado.web
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets

from dsportal.laptop import sessions, sweeps, verbs, work
from dsportal.laptop.cli import main

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
        self.streamed: list[str] = []
        self.asked: list[tuple[str, str, str]] = []
        # What a session answers, by path; a list one after the other, the last one for ever.
        self.answers: dict[str, list[Any]] = {}

    def run_session(self) -> None:
        self.servers = {"": {"pending": None, "ready": True, "url": "/hub2/user/ada/"}}

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
        self.hub.streamed.append(path)
        stream = self.hub.streams.pop(0)
        for event in stream:
            self.write(f"data: {json.dumps(event)}\n\n")
        await self.flush()
        if stream == [WAITING] and not self.hub.streams:
            await asyncio.Event().wait()

    def post(self, path: str) -> None:
        self.hub.asked.append(("POST", path, self.request.body.decode()))
        if path.endswith("/extend"):
            self.finish({"left_s": 7200.0})
        elif self.hub.refusal or self.hub.servers:
            self.set_status(400)
            self.finish({"message": self.hub.refusal})
        else:
            self.set_status(202)

    def delete(self, path: str) -> None:
        self.hub.asked.append(("DELETE", path, ""))
        name = path.partition("servers/")[2]
        self.hub.servers[name]["pending"] = "stop"
        self.set_status(202)


class OfSession(Api):
    async def get(self, path: str) -> None:
        self._answer()

    def post(self, path: str) -> None:
        self.hub.asked.append(("POST", path, self.request.body.decode()))
        self._answer()

    def delete(self, path: str) -> None:
        self.hub.asked.append(("DELETE", path, ""))
        self._answer()

    def _answer(self) -> None:
        found = self.hub.answers[self.request.uri.partition("/user/ada/")[2]]
        self.finish(json.dumps(found[0] if len(found) == 1 else found.pop(0)))


@pytest.fixture
async def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Hub]:
    monkeypatch.setenv("HOME", str(tmp_path))
    # Not that of this machine.
    monkeypatch.setitem(sys.modules, "keyring", None)
    monkeypatch.setattr(sessions, "_PAUSE_S", 0)
    monkeypatch.setattr(sessions, "_LOOK_AGAIN_S", 0)
    monkeypatch.setattr(sessions, "_WHY_QUIET_S", 0.3)
    monkeypatch.setattr(work, "_LOOK_S", 0)
    monkeypatch.setattr(sweeps, "_LOOK_S", 0)
    monkeypatch.setattr(verbs, "_HAS_SCREEN", True)
    monkeypatch.setattr("webbrowser.open", lambda _url: None)
    hub = Hub()
    (listening,) = bind_sockets(0, "127.0.0.1")
    routes = [
        (r"/hub2/hub/api/(.*)", Api, {"hub": hub}),
        (r"/hub2/user/ada/(.*)", OfSession, {"hub": hub}),
    ]
    server = HTTPServer(tornado.web.Application(routes))
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
