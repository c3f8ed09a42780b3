"""The notebooks that begin with the user's own table, images or text, in the kernels they name."""

from __future__ import annotations

import csv

import pytest

from tests.templates.notebooks import execute

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def your_own(session):
    return execute(session, "data/your_own.ipynb")


@pytest.fixture(scope="module")
def images(session):
    return execute(session, "pytorch/images.ipynb")


@pytest.mark.parametrize(
    ("notebook", "at_least", "n_pictures"),
    [
        ("your_own", 0.8, 1),
        pytest.param("images", 0.85, 3, marks=pytest.mark.release),
    ],
)
def test_a_notebook_runs_to_its_end_without_a_warning_and_learns(
    request, notebook, at_least, n_pictures
):
    executed = request.getfixturevalue(notebook)

    assert executed.standard_error == ""
    assert executed.figures["accuracy"] >= at_least
    assert len(executed.pictures) == n_pictures


def test_the_predictions_for_an_own_table_are_a_file(your_own):
    with (your_own.folder / "predictions.csv").open() as file:
        rows = list(csv.DictReader(file))

    assert len(rows) == 36
    assert {"alcohol", "target", "predicted", "probability"} <= rows[0].keys()
