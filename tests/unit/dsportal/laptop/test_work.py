"""The verbs of jobs, output and GPUs, against a hub and a session with the answers of a test."""

import json
from typing import Any

import pytest

from tests.unit.dsportal.laptop.conftest import Hub

JOB = {
    "id": "12",
    "label": "Waiting",
    "n_gpus": 2,
    "elapsed": "",
    "name": "train",
    "reason": "All GPUs are in use.",
    "is_session": False,
    "is_over": False,
}
RUN = {
    "name": "20261120-203845-digits-k3v9",
    "state": "running",
    "n_gpus": 1,
    "label": "",
    "function": "digits",
    "done": "",
    "words": "",
    "is_over": False,
}
ROWS = {"rows": [{"job": JOB, "run": None}, {"job": None, "run": RUN}], "problem": ""}
OUTPUT = f"portal/api/runs/{RUN['name']}/output"


@pytest.fixture
def running(ada: Hub) -> Hub:
    ada.run_session()
    ada.answers["portal/api/jobs"] = [ROWS]
    return ada


async def test_jobs_and_runs_are_lines_with_the_reason_of_what_waits(
    running: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await running.run("jobs") == 0
    assert await running.run("jobs", "--json") == 0

    first, second, as_json = capsys.readouterr().out.splitlines()
    assert " ".join(first.split()) == "12 Waiting 2 GPUs train All GPUs are in use."
    assert second.split() == [RUN["name"], "running", "1", "GPU", "digits"]
    assert json.loads(as_json) == ROWS


async def test_a_slurm_that_does_not_answer_is_not_an_empty_list(
    running: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    running.answers["portal/api/jobs"] = [{"rows": [], "problem": "Slurm does not answer."}]

    assert await running.run("jobs") == 0

    assert capsys.readouterr().out == "Slurm does not answer.\n"


async def test_jobs_on_another_cluster_are_listed_and_the_newest_output_is_one_of_this(
    running: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    there = {**JOB, "id": "Volta:12", "cluster": "Volta"}
    rows = [{"job": there, "run": None}, {"job": JOB, "run": None}]
    missing = "Your jobs on Kepler are not known: Slurm does not answer."
    running.answers |= {
        "portal/api/jobs": [{"rows": rows, "problem": "", "missing": missing}],
        "portal/api/jobs/12/output": [{"text": "of 12\n", "next_offset": 5}],
        "portal/api/jobs/Volta%3A12/output": [{"text": "of Volta's\n", "next_offset": 5}],
    }

    assert await running.run("jobs") == 0
    first, second, _ = capsys.readouterr().out.splitlines()
    assert (first, second.split()[:2]) == (missing, ["Volta:12", "Waiting"])
    assert await running.run("logs") == 0
    assert capsys.readouterr().out == "of 12\n"
    # The session refuses that, and says why.
    assert await running.run("logs", "Volta:12") == 0
    assert capsys.readouterr().out == "of Volta's\n"


async def test_output_is_followed_to_its_end_even_if_slurm_is_away_for_a_while(
    running: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    over = {"rows": [{"job": None, "run": {**RUN, "is_over": True}}], "problem": ""}
    away = {"rows": [], "problem": "Slurm does not answer."}
    running.answers |= {
        "portal/api/jobs": [ROWS, ROWS, away, over],
        OUTPUT: [{"text": "one\n", "next_offset": 4}],
        f"{OUTPUT}?offset=4": [
            {"text": "", "next_offset": 4},
            {"text": "two\n", "next_offset": 8},
        ],
        f"{OUTPUT}?offset=8": [{"text": "", "next_offset": 8}],
    }

    assert await running.run("logs", "k3v9", "--follow") == 0

    assert capsys.readouterr().out == "one\ntwo\n"


async def test_the_output_of_a_job_is_found_by_its_number_also_after_it_left_the_list(
    running: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in ("12", "3"):
        path = f"portal/api/jobs/{number}/output"
        running.answers[path] = [{"text": f"of {number}\n", "next_offset": 5}]

        assert await running.run("logs", number) == 0
        assert capsys.readouterr().out == f"of {number}\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("logs", "nothing"), "You have no job or run 'nothing'. List them: dsportal jobs"),
        (("job", "new", "x.ipynb", "-p", "lr"), "'lr' is no parameter. Write -p lr=0.1"),
        (("gpu", "2"), "No notebook is open with a kernel in your session."),
    ],
)
async def test_what_cannot_be_done_says_the_next_step(
    running: Hub, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], sentence: str
) -> None:
    running.answers["api/sessions"] = [[]]

    assert await running.run(*words) == 1

    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("is_first", [True, False])
async def test_a_notebook_becomes_a_job_with_options_before_it_or_behind_it(
    running: Hub, capsys: pytest.CaptureFixture[str], *, is_first: bool
) -> None:
    running.answers["portal/api/notebook-jobs"] = [{"message": "x.ipynb runs as job 12."}]
    words = ["--gpus", "2", "-p", "lr=0.1", "-p", "name=a=b", "--qos", "long"]
    words += ["--every", "monday", "--at", "04:00", "--mail"]

    given = [*words, "x.ipynb"] if is_first else ["x.ipynb", *words]
    assert await running.run("job", "new", *given) == 0

    ((method, path, body),) = running.asked
    assert (method, path) == ("POST", "portal/api/notebook-jobs")
    assert json.loads(body) == {
        "path": "x.ipynb",
        "gpus": 2,
        "nodes": 1,
        "hours": 8,
        "parameters": {"lr": "0.1", "name": "a=b"},
        "qos": "long",
        "every": "monday",
        "at": "04:00",
        "mail": True,
    }
    assert capsys.readouterr().out == "x.ipynb runs as job 12.\n"


async def test_a_script_keeps_what_stands_behind_it_and_a_forecast_queues_nothing(
    running: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    running.answers["portal/api/notebook-jobs/forecast"] = [{"message": "It would start at once."}]

    words = ("--forecast", "--with", "torch", "train.py", "--gpus", "9", "-p", "3")
    assert await running.run("job", "new", *words) == 0

    ((_, path, body),) = running.asked
    assert path == "portal/api/notebook-jobs/forecast"
    asked = json.loads(body)
    assert (asked["gpus"], asked["program"]) == (1, "torch")
    assert asked["arguments"] == ["--gpus", "9", "-p", "3"]
    assert capsys.readouterr().out == "It would start at once.\n"


def kernel(path: str, name: str) -> dict[str, Any]:
    return {"path": path, "kernel": {"id": name}}


async def test_gpus_go_to_the_kernel_of_the_only_notebook_or_of_the_one_that_is_named(
    running: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    told = {"words": "no GPU", "asked": "2 GPUs", "reason": "All GPUs are in use."}
    running.answers["api/sessions"] = [[kernel("a.ipynb", "k1")]]
    running.answers["portal/api/kernels/k1/gpus"] = [told]

    assert await running.run("gpu", "v100:2", "--hours", "3") == 0
    assert await running.run("gpu") == 0

    assert running.asked == [
        ("POST", "portal/api/kernels/k1/gpus", json.dumps({"gpus": "v100:2", "hours": "3"}))
    ]
    line = "a.ipynb: no GPU, waits for 2 GPUs. All GPUs are in use.\n"
    assert capsys.readouterr().out == line * 2

    running.answers["api/sessions"] = [[kernel("a.ipynb", "k1"), kernel("b.ipynb", "k2")]]
    assert await running.run("gpu", "2") == 1
    assert "Several notebooks are open: a.ipynb, b.ipynb." in capsys.readouterr().err
    assert await running.run("gpu", "2", "--notebook", "a.ipynb") == 0


@pytest.mark.parametrize("words", [("jobs",), ("extend",), ("gpu",)])
async def test_without_a_session_the_next_step_is_to_start_one(
    ada: Hub, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert await ada.run(*words) == 1

    assert "Start it: dsportal start" in capsys.readouterr().err


async def test_more_time_is_asked_of_the_hub(
    running: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await running.run("extend") == 0

    assert running.asked == [("POST", "dsportal/users/ada/extend", "")]
    assert capsys.readouterr().out == "2 h are left.\n"
