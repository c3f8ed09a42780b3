"""A run in a cell of a real kernel: lines as they come, and the interrupt button."""

from pathlib import Path

import pytest

from tests.templates.conftest import ENVIRONMENTS

pytestmark = pytest.mark.cluster


CASES = ("interrupt_a_cell", "bar_in_a_cell", "own_package_on_ranks")


@pytest.fixture(scope="module")
def found(session):
    program = Path(__file__).with_name("kernel_cases.py")
    python = ENVIRONMENTS / "server" / "bin" / "python"
    return session.run_cases(program, CASES, python=python)


@pytest.fixture(scope="module")
def cell(found):
    return found["interrupt_a_cell"].value


def test_lines_reach_the_cell_as_they_are_printed(cell):
    assert 0.8 < cell["seconds_between_lines_0_and_5"] < 10


def test_the_interrupt_button_of_a_notebook_ends_all_ranks_within_5_s(cell):
    assert cell["error"] == "KeyboardInterrupt"
    # None of this package's frames, in which nobody finds the cell's own lines.
    assert cell["shown"] == ["KeyboardInterrupt"]
    assert cell["seconds_after_button"] < 5
    assert cell["alive"] == []


def test_one_bar_moves_in_the_cell_and_ends_full(found):
    value = found["bar_in_a_cell"].value

    assert value["n"]["display_data"] == 1
    assert value["n"]["update_display_data"] >= 2
    assert "<progress value=1 " in value["markup"]
    assert "Done, 30 steps in " in value["markup"]


def test_ranks_on_all_nodes_see_a_package_that_was_installed_in_a_cell(found):
    value = found["own_package_on_ranks"].value
    ranks = [*value["here"], *value["there"]]

    assert [says for says, _, _ in ranks] == ["tiny"] * 4
    assert len({node for _, node, _ in value["there"]}) == 2
    assert all("/packages/tensorflow-" in prefix for _, _, prefix in ranks)
