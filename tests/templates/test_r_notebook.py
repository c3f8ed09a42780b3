"""The template notebook for R, run to its end in a real session."""

import pytest

pytestmark = pytest.mark.cluster


def test_the_r_notebook_runs_to_its_end_without_a_warning(executed):
    assert executed("r/digits.ipynb").standard_error == ""


def test_the_r_notebook_reads_at_least_94_of_100_test_digits(executed):
    assert executed("r/digits.ipynb").figures["accuracy"] >= 0.94


def test_the_r_notebook_draws_digits_curves_confusion_and_misread_digits(executed):
    assert len(executed("r/digits.ipynb").pictures) == 4


def test_the_network_saved_by_r_is_read_back_unchanged(executed):
    assert "Read back, it is the same: TRUE" in executed("r/digits.ipynb").text
