"""The template notebook for R, run to its end in a real session."""

import pytest

from tests.templates.notebooks import execute

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def digits(session):
    return execute(session, "r/digits.ipynb")


def test_the_r_notebook_runs_to_its_end_without_a_warning(digits):
    assert digits.standard_error == ""


def test_the_r_notebook_reads_at_least_94_of_100_test_digits(digits):
    assert digits.figures["accuracy"] >= 0.94


def test_the_r_notebook_draws_digits_curves_confusion_and_misread_digits(digits):
    assert len(digits.pictures) == 4


def test_the_network_saved_by_r_is_read_back_unchanged(digits):
    assert "Read back, it is the same: TRUE" in digits.text
