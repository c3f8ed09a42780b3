import json
from dataclasses import replace
from pathlib import Path

import pytest

from dsportal.slurm.errors import OptionsError
from dsportal.task.folder import RunFolder
from dsportal.task.plan import Plan
from portal.server.notebook_jobs.order import (
    JobOrder,
    former_order,
    parse_order,
    sweep_arguments,
)

ROOT = Path("/home/ada")


def test_a_form_becomes_a_command_whose_words_are_the_users_own() -> None:
    body = {
        "path": "nets/my net.ipynb",
        "gpus": "4",
        "nodes": "2",
        "hours": "1.5",
        "parameters": {"lr": "0.1", "word": "a=b; rm -rf ~"},
    }
    order = parse_order(json.dumps(body).encode(), ROOT)

    assert order.words() == [
        *("job", "new", "--gpus=4", "--nodes=2", "--hours=1.5"),
        *("-p", "lr=0.1", "-p", "word=a=b; rm -rf ~"),
        "/home/ada/nets/my net.ipynb",
    ]


def test_a_script_has_its_own_arguments_behind_it() -> None:
    body = {"path": "train.py", "program": "torch", "arguments": ["--gpus", "x"], "qos": "long"}
    order = parse_order(json.dumps(body).encode(), ROOT)

    assert order.words() == [
        *("job", "new", "--gpus=1", "--nodes=1", "--hours=8.0", "--qos=long", "--with=torch"),
        *("/home/ada/train.py", "--gpus", "x"),
    ]


def test_a_notebook_that_runs_again_says_when_and_a_forecast_asks_for_the_same() -> None:
    order = parse_order(
        b'{"path": "x.ipynb", "every": "monday", "at": "04:00", "mail": true}', ROOT
    )
    words = [
        "--gpus=1",
        "--nodes=1",
        "--hours=8.0",
        "--mail",
        "--every=monday",
        "--at=04:00",
        "/home/ada/x.ipynb",
    ]

    assert order.words() == ["job", "new", *words]
    assert order.words("--forecast") == ["job", "new", "--forecast", *words]


def test_a_grid_becomes_words_of_the_command() -> None:
    body = {
        "path": "x.ipynb",
        "grid": {"lr": [0.1, "0.01"], "sizes": [[2, 3]], "word": ["a b"]},
        "at_once": 2,
        "kernel": "pytorch",
        "name": "digits",
        "mail": True,
    }

    assert sweep_arguments(json.dumps(body).encode(), ROOT) == [
        *("sweep", "new", "--json", "--gpus=1", "--nodes=1", "--hours=8.0", "--mail"),
        *("--as=digits", "--at-once=2", "--kernel=pytorch", "-p", "lr=0.1", "-p", "lr=0.01"),
        *("-p", "sizes=[2, 3]", "-p", "word=a b", "/home/ada/x.ipynb"),
    ]


@pytest.mark.parametrize("grid", [None, 3, {"lr": 1}, {"lr": ["\0"]}])
def test_a_grid_that_is_none_is_refused(grid: object) -> None:
    with pytest.raises(OptionsError):
        sweep_arguments(json.dumps({"path": "x.ipynb", "grid": grid}).encode(), ROOT)


def test_a_form_begins_with_what_a_run_was_asked_for(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "20261128-040000-train-k3v9")
    folder.path.mkdir()
    plan = Plan(
        n_ranks=4,
        n_nodes=2,
        cores_per_rank=1,
        simulated_gpus=False,
        working_dir="/home/ada",
        module_paths=(),
        n_results=1,
        executes="/home/ada/nets/train.ipynb",
        parameters={"lr": 0.5},
        walltime_s=5400,
    )
    folder.write_plan(plan)

    assert former_order(folder.name, tmp_path, ROOT) == {
        "path": "nets/train.ipynb",
        "size": {"gpus": 4, "nodes": 2, "hours": 1.5},
        "parameters": {"lr": 0.5},
    }
    folder.write_plan(replace(plan, executes=""))
    for name in (folder.name, "none", "../x", ".", ""):
        with pytest.raises(OptionsError):
            former_order(name, tmp_path, ROOT)


def test_what_a_request_leaves_out_has_a_default() -> None:
    assert parse_order(b'{"path": "x.ipynb"}', ROOT) == JobOrder(
        path=ROOT / "x.ipynb", size=["--gpus=1", "--nodes=1", "--hours=8.0"], more=[], arguments=[]
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"path": "x.ipynb", "gpus": "many"}',
        b'{"path": "x.ipynb", "gpus": 1e999}',
        b'{"path": "x.ipynb", "parameters": 3}',
        b'{"path": "x.ipynb", "at": "\\u0000"}',
        b'{"path": "x.ipynb", "parameters": {"a": "\\u0000"}}',
        b'{"path": "x.ipynb", "arguments": ["--output=x"]}',
        b'{"path": "../eve/x.ipynb"}',
        b'{"path": "/etc/x.ipynb"}',
        b'{"path": ""}',
    ],
)
def test_a_request_that_asks_for_something_else_is_refused(body: bytes) -> None:
    with pytest.raises(OptionsError):
        parse_order(body, ROOT)
