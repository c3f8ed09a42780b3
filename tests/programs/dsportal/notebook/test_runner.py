"""dsportal.run over a stand-in for srun; the same tests run over Slurm in tests/templates."""

from tests.support.launch_contract import *  # noqa: F403


def test_a_pruner_of_optunas_stops_the_worst_points_and_they_are_not_run_again(session):
    value = session.run_cases(["sweep_pruner"])["sweep_pruner"].value

    assert [row["state"] for row in value["rows"]] == [*["done"] * 5, "pruned"]
    assert "its loss was 9, and Optuna's MedianPruner stopped it." in value["rows"][5]["error"]
    assert value["again"] == []


def test_without_pandas_the_result_of_a_sweep_is_a_list(session):
    assert session.run_case("sweep_stop_worst").value["results"] == "list"
