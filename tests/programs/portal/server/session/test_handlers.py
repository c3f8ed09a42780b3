"""What VS Code asks and tells on the socket that only its user can open."""

import json
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpcore
import pytest

from tests.programs.portal.server.conftest import STAND_IN
from tests.support.eventually import eventually, throughout
from tests.support.notebook_server import NotebookServer


@pytest.fixture
def ask(notebook_server: NotebookServer) -> Any:
    (path,) = notebook_server.tmp_dir.glob("dsportal-*/kernels")

    def ask(method: str, target: str) -> httpcore.Response:
        with httpcore.ConnectionPool(uds=str(path)) as pool:
            return pool.request(method, f"http://session{target}")

    return ask


def test_it_is_told_the_time_left_and_where_the_session_is(ask: Any) -> None:
    answer = ask("GET", "/session")

    assert answer.status == 200
    assert b'"left_s"' in answer.content
    assert b'"page": "/user/ada/"' in answer.content


def test_only_use_counts_as_activity(ask: Any, notebook_server: NotebookServer) -> None:
    def last_activity() -> str:
        url = f"{notebook_server.host}/user/ada/api/status?no_track_activity=1"
        return str(notebook_server.http.get(url, timeout=10).json()["last_activity"])

    before = last_activity()
    assert ask("GET", "/session").status == 200
    assert last_activity() == before

    assert ask("GET", "/session?input_age_s=0").status == 200

    assert last_activity() > before


def test_a_user_keeps_the_session(ask: Any) -> None:
    assert ask("POST", "/session/keep").status == 204


def test_an_extension_that_the_hub_cannot_be_asked_for_is_a_sentence(ask: Any) -> None:
    answer = ask("POST", "/session/extension")

    assert answer.status >= 400
    assert b'"message"' in answer.content


IDLE_AFTER_S = 1.0


@pytest.fixture
def server() -> Iterator[NotebookServer]:
    """A session that counts as unused after a moment."""
    settings = {
        "meter": {"interval_s": 0.2},
        "idle": {"after_minutes": IDLE_AFTER_S / 60, "warning_minutes": 60, "cpu_percent": 100},
    }
    environ = {"JUPYTER_NO_CONFIG": "1", "PORTAL_SETTINGS": json.dumps(settings)}
    with tempfile.TemporaryDirectory(prefix="dsp-", ignore_cleanup_errors=True) as folder:
        server = NotebookServer(Path(folder), STAND_IN, environ=environ)
        yield server
        server.stop()


def state(server: NotebookServer) -> Any:
    url = f"{server.host}/user/ada/portal/api/session"
    return server.http.get(url, timeout=10).json()["idle"]["state"]


def test_the_session_is_used_until_the_cell_ends(server: NotebookServer) -> None:
    (path,) = server.tmp_dir.glob("dsportal-*/kernels")
    eventually(lambda: state(server) == "warned", timeout_s=60)

    with socket.socket(socket.AF_UNIX) as cell:
        cell.connect(str(path))
        cell.sendall(b"GET /session/cell HTTP/1.1\r\nHost: session\r\n\r\n")

        eventually(lambda: state(server) == "used", timeout_s=60)
        throughout(lambda: state(server) == "used", for_s=3 * IDLE_AFTER_S)

    eventually(lambda: state(server) == "warned", timeout_s=60)
