"""Where kernels log runs of MLflow."""

import pytest

from portal.server.viewers.mlflow.tracking import has_mlflow, offer_mlflow
from tests.support.told import tables

# Nothing shows the pages on this node.
SETTINGS = tables(mlflow={"enabled": True}, environments={"mlflow": "/absent"})


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")


def test_kernels_log_to_a_folder_of_the_home_also_where_nothing_shows_it() -> None:
    environ: dict[str, str] = {}

    offer_mlflow(environ, SETTINGS)

    assert not has_mlflow(SETTINGS)
    assert environ["MLFLOW_TRACKING_URI"] == "file:///home/ada/mlruns"
    # MLflow 3 refuses a folder without it.
    assert environ["MLFLOW_ALLOW_FILE_STORE"] == "true"


def test_a_tracking_server_of_the_site_stays() -> None:
    environ = {"MLFLOW_TRACKING_URI": "https://mlflow.example.org"}

    offer_mlflow(environ, SETTINGS)

    assert environ["MLFLOW_TRACKING_URI"] == "https://mlflow.example.org"


def test_a_site_without_mlflow_sets_nothing() -> None:
    environ: dict[str, str] = {}

    offer_mlflow(environ, tables())

    assert environ == {}
