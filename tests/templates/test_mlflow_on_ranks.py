"""Ranks on two nodes log to MLflow, each to its own run or both to one, and nothing is lost."""

from pathlib import Path
from typing import Any

import pytest

from tests.templates.conftest import SlurmSession

pytestmark = [pytest.mark.cluster, pytest.mark.release]

PROGRAM = Path(__file__).with_name("mlflow_cases.py")
N_STEPS = 40


@pytest.fixture(scope="module")
def outcomes(session: SlurmSession) -> dict[str, Any]:
    found = session.run_cases(
        PROGRAM, ["own_runs", "one_run", "folder_lost", "combinations", "no_room"]
    )
    return {name: outcome.value for name, outcome in found.items()}


def test_each_rank_has_its_own_run_in_a_folder_that_both_made_at_once(
    outcomes: dict[str, Any],
) -> None:
    found = outcomes["own_runs"]
    uris, nodes = zip(*found["results"], strict=True)
    by_name = {one["name"]: one for one in found["runs"]}

    assert set(uris) == {found["folder"]}
    assert len(set(nodes)) == 2
    assert sorted(by_name) == ["rank-0", "rank-1"]
    for rank in range(2):
        one = by_name[f"rank-{rank}"]
        assert one["values"] == [step * (rank + 1) for step in range(1, N_STEPS + 1)]
        assert one["status"] == "FINISHED"
        assert one["loss"], "report() logs to it, too"
        assert one["tags"] == {"portal.run": found["name"], "portal.rank": str(rank)}
    assert found["beside"] == []


def test_the_list_of_runs_leads_to_the_run_of_rank_0(outcomes: dict[str, Any]) -> None:
    found = outcomes["own_runs"]
    (first,) = (one for one in found["runs"] if one["name"] == "rank-0")

    assert found["link"] == {
        "tracking_uri": found["folder"],
        "experiment_id": "0",
        "run_id": first["id"],
    }


def test_two_ranks_that_write_one_metric_lose_no_point(outcomes: dict[str, Any]) -> None:
    (one,) = outcomes["one_run"]["runs"]

    expected = [step + 1000 * rank for rank in range(2) for step in range(N_STEPS)]
    assert sorted(one["values"]) == expected


def test_a_training_ends_well_where_the_folder_is_lost(outcomes: dict[str, Any]) -> None:
    assert outcomes["folder_lost"]["result"] == "trained"


@pytest.mark.parametrize("how", ["loop", "keras"])
def test_each_log_that_rank_0_has_opened_gets_its_last_loss_and_no_other(
    outcomes: dict[str, Any], how: str
) -> None:
    found = outcomes["combinations"]
    runs = {one["name"]: one for one in found["runs"] if one["name"].startswith(how)}
    events = {name: tags for name, tags in found["events"].items() if name.startswith(how)}

    assert found["result"] == "trained"
    assert sorted(runs) == [f"{how} mlflow", f"{how} mlflow and tensorboard"]
    assert sorted(events) == [f"{how} mlflow and tensorboard", f"{how} tensorboard"]
    both = f"{how} mlflow and tensorboard"
    last = [one["values"][-1] for one in runs.values()]
    written = [tags["report/loss"][-1] for tags in events.values()]
    if how == "loop":
        assert last == [1 / N_STEPS] * 2
        assert written == [[N_STEPS, pytest.approx(1 / N_STEPS)]] * 2
    assert events[both]["report/loss"][-1][1] == pytest.approx(runs[both]["values"][-1])


def test_ranks_that_open_no_log_write_none(outcomes: dict[str, Any]) -> None:
    found = outcomes["combinations"]

    assert {one["tags"]["portal.rank"] for one in found["runs"]} == {"0"}
    assert set(found["n_writers"].values()) == {1}
    assert found["folders"] == [".trash", "0"]


@pytest.mark.parametrize(
    ("how", "cause"),
    [("full", "No space left on device"), ("not writable", "Permission denied")],
)
def test_a_training_goes_on_without_room_and_says_so_once(
    outcomes: dict[str, Any], how: str, cause: str
) -> None:
    found = outcomes["no_room"][how]

    assert found["result"] == "trained"
    assert found["output"].count("not logged to MLflow") == 1
    assert cause in found["output"]
    assert "Traceback" not in found["output"]
