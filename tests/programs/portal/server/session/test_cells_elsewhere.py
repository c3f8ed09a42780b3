"""A cell of VS Code, in a kernel that the notebook server did not start."""

from __future__ import annotations

import json
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.programs.portal.server.conftest import STAND_IN
from tests.support.eventually import eventually, throughout
from tests.support.notebook_server import NotebookServer

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
