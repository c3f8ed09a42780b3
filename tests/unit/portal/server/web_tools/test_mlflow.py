"""MLflow as a tool of sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from portal.server.web_tools.handlers import offered_tools
from portal.server.web_tools.mlflow import mlflow_tool, offer_mlflow
from spawner.session_settings import SessionSettings


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionSettings:
    monkeypatch.setenv("HOME", "/home/ada")
    python = tmp_path / "python"
    python.touch(mode=0o755)
    return SessionSettings(mlflow_python=str(python))


def test_kernels_log_to_the_folder_that_the_pages_show(settings: SessionSettings) -> None:
    environ: dict[str, str] = {}

    offer_mlflow(environ, settings)

    tool = mlflow_tool(settings)
    assert tool is not None
    assert environ["MLFLOW_TRACKING_URI"] == "file:///home/ada/mlruns"
    assert environ["MLFLOW_TRACKING_URI"] in tool.command
    # MLflow 3 refuses a folder without it.
    assert environ["MLFLOW_ALLOW_FILE_STORE"] == "true"


def test_a_tracking_server_of_the_site_stays(settings: SessionSettings) -> None:
    environ = {"MLFLOW_TRACKING_URI": "https://mlflow.example.org"}

    offer_mlflow(environ, settings)

    assert environ["MLFLOW_TRACKING_URI"] == "https://mlflow.example.org"


def test_it_listens_on_a_socket_and_says_nothing_to_its_makers(settings: SessionSettings) -> None:
    (tool,) = offered_tools(settings)

    assert tool.title == "MLflow"
    assert "--uds {unix_socket}" in tool.argv()
    assert {"MLFLOW_DISABLE_TELEMETRY=true", "PYTHONNOUSERSITE=1"} <= set(tool.argv())


@pytest.mark.parametrize("python", ["", "/absent/python"])
def test_a_node_without_it_offers_nothing(python: str) -> None:
    environ: dict[str, str] = {}
    settings = SessionSettings(mlflow_python=python)

    offer_mlflow(environ, settings)

    assert environ == {}
    assert offered_tools(settings) == ()
