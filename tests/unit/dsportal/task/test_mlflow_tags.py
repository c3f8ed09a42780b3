"""The tags of the runs of MLflow that ranks start."""

import json

import pytest

from dsportal.task.mlflow_tags import VARIABLE, name_run


def test_a_run_of_mlflow_tells_which_rank_of_which_run_started_it() -> None:
    environ: dict[str, str] = {}

    name_run(environ, "20261123-120000-train-ab12", 1)

    assert json.loads(environ[VARIABLE]) == {
        "portal.run": "20261123-120000-train-ab12",
        "portal.rank": "1",
    }


def test_a_run_of_mlflow_names_the_notebook_in_place_of_the_program_of_ranks() -> None:
    environ = {"IPYNB_FILE": "/home/ada/study/digits.ipynb"}

    name_run(environ, "run", 0)

    tags = json.loads(environ[VARIABLE])
    assert tags["mlflow.source.name"] == "digits.ipynb"
    assert tags["mlflow.source.type"] == "NOTEBOOK"


def test_the_tags_of_the_user_stay() -> None:
    environ = {VARIABLE: '{"team": "vision"}'}

    name_run(environ, "run", 0)

    assert json.loads(environ[VARIABLE])["team"] == "vision"


@pytest.mark.parametrize("given", ["not JSON", "[1]"])
def test_what_is_no_table_of_tags_fails_no_rank(given: str) -> None:
    environ = {VARIABLE: given}

    name_run(environ, "run", 0)

    assert "portal.run" in json.loads(environ[VARIABLE])
