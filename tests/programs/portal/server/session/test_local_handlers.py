"""What VS Code asks and tells on the socket that only its user can open."""

from __future__ import annotations

from typing import Any

import httpcore
import pytest

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
