"""The error of a refused start under JupyterHub 5, which has no such class."""

import runpy
from typing import Any

import jupyterhub.spawner
import pytest
from tornado.web import HTTPError

from spawner.session import spawn_error


def without_jupyterhubs_own(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.delattr(jupyterhub.spawner, "SpawnException")
    return runpy.run_path(spawn_error.__file__)["SpawnException"]


def test_jupyterhubs_own_is_taken_where_there_is_one() -> None:
    assert spawn_error.SpawnException is jupyterhub.spawner.SpawnException


def test_without_one_it_is_an_error_with_a_status(monkeypatch: pytest.MonkeyPatch) -> None:
    cls = without_jupyterhubs_own(monkeypatch)

    error = cls("refused", reason="options", log_message="50 % refused", status_code=409)

    assert isinstance(error, HTTPError)
    assert (error.status_code, error.reason, error.message) == (409, "options", "refused")
    assert "50 % refused" in str(error)
