"""Horovod over MPI from a session."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.cluster

PROGRAM = Path(__file__).with_name("mpi_cases.py")
CASES = ("one_node", "two_nodes", "crash", "interrupt", "interrupt_on_two_nodes")


@pytest.fixture(scope="module")
def found(session, plan):
    python = plan.environment("tensorflow") / "bin/python"
    return session.run_cases(PROGRAM, CASES, python)


@pytest.mark.parametrize("case", ["one_node", "two_nodes"])
def test_ranks_meet_over_mpi_and_not_over_gloo(found, case):
    for rank in found[case].value["mpi"]:
        assert (rank["mpi"], rank["gloo"], rank["variables"]) == (True, False, [])
    for rank in found[case].value["gloo"]:
        assert (rank["mpi"], rank["gloo"]) == (False, True)


@pytest.mark.parametrize("case", ["one_node", "two_nodes"])
def test_ranks_have_the_same_places_and_sum_over_mpi_as_over_gloo(found, case):
    last_local_rank = {"one_node": 1, "two_nodes": 0}[case]
    for ranks in (found[case].value["mpi"], found[case].value["gloo"]):
        assert [rank["place"] for rank in ranks] == [[0, 0, 2], [1, last_local_rank, 2]]
        assert [rank["sum"] for rank in ranks] == [3.0, 3.0]


@pytest.mark.parametrize("case", ["one_node", "two_nodes"])
def test_ranks_learn_over_mpi_what_they_learn_over_gloo(found, case):
    assert found[case].value["largest_difference"] < 1e-5


def test_a_crash_of_rank_1_shows_its_traceback(found):
    crash = found["crash"].value

    assert crash["rank"] == 1
    assert "ValueError: bad image 1234.jpg" in crash["text"]
    assert crash["seconds"] < 60


@pytest.mark.parametrize("case", ["interrupt", "interrupt_on_two_nodes"])
def test_the_interrupt_button_ends_every_rank_within_5_s(found, case):
    assert found[case].value["seconds"] < 5
    assert found[case].value["alive"] == []
