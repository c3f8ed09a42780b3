"""The template that studies how a user's own model scales, and the models that studies bring."""

import re
from pathlib import Path

import pytest

from tests.templates.notebooks import execute

pytestmark = [pytest.mark.cluster, pytest.mark.release]

PROGRAM = Path(__file__).with_name("study_cases.py")


@pytest.fixture(scope="module")
def study(session):
    return execute(session, "scaling/study.ipynb")


def test_the_scaling_notebook_runs_to_its_end_without_a_warning(study):
    assert study.standard_error == ""


def test_the_scaling_notebook_measures_one_node_and_two(study):
    measured = re.findall(r"^\[\d of 3.*\] (\dx\d), batch 128, fp32", study.text, re.MULTILINE)

    assert measured == ["1x1", "1x2", "2x1"]


def test_the_scaling_notebook_draws_speedup_batch_sizes_and_the_prediction(study):
    assert len(study.pictures) == 3


def test_the_scaling_notebook_says_how_many_gpus_pay(study):
    shown = [
        "".join(output["data"].get("text/plain", ""))
        for cell in study.cells
        for output in cell.get("outputs", [])
        if "data" in output
    ]

    assert any(text.startswith("Use ") for text in shown)


def test_the_scaling_notebook_leaves_one_page_to_keep(study):
    report = (study.folder / "studies" / "ranks" / "report.html").read_text()

    assert "2x1, batch 128, fp32" in report


@pytest.fixture(scope="module")
def known_model(session):
    return session.run_cases(PROGRAM, ["known_model"])["known_model"].value


def test_a_study_measures_a_known_model_in_full_and_in_mixed_precision(known_model):
    assert known_model["precisions"] == ["fp32", "mixed"]
    assert min(known_model["rates"]) > 0
