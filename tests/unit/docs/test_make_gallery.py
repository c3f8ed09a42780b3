"""The gallery shows every template as the last test run saw it."""

import json
from pathlib import Path

import pytest

from tests.support.load_file import load_file

CHECKOUT = Path(__file__).parents[3]
DOCS = CHECKOUT / "docs"
TEMPLATES = CHECKOUT / "notebook_templates"
REPORT = json.loads((DOCS / "benchmarks" / "templates.json").read_text())
RECORD = {
    "date": "2026-11-21",
    "seconds": 12.5,
    "load": 1.5,
    "versions": {"keras": "3.15.1"},
    "figures": {"accuracy": 0.987, "int8_vs_fp32": 2.5},
    "machine": {"commit": "cefa8c9f00", "is_dirty": False, "cpu": "AMD EPYC"},
}
MAKE_AGAIN = "run tests/run templates, then docs/make_gallery.py"


make_gallery = load_file(DOCS / "make_gallery.py")


def test_the_page_is_made_from_the_report_and_the_notebooks():
    """Run "python docs/make_gallery.py" after a change of a notebook's first cell."""
    assert (DOCS / "use/gallery.md").read_text(encoding="utf-8") == make_gallery.render(REPORT)


def test_the_gallery_shows_templates_that_are_there_and_that_the_launcher_calls_tested():
    tested = json.loads((TEMPLATES / "tested.json").read_text())

    assert set(REPORT["notebooks"]) <= set(tested), MAKE_AGAIN
    assert all((TEMPLATES / name).exists() for name in REPORT["notebooks"]), MAKE_AGAIN


@pytest.mark.parametrize("name", REPORT["notebooks"])
def test_each_template_of_the_gallery_has_a_small_picture(name):
    picture = DOCS / "images" / "templates" / make_gallery.picture_name(name)

    assert 0 < picture.stat().st_size < 100_000


def test_a_report_has_seconds_and_accuracy_of_a_notebook_and_no_figure_of_a_single_run():
    report = make_gallery.make_report({}, {"tensorflow/digits.ipynb": RECORD})

    row = report["notebooks"]["tensorflow/digits.ipynb"]
    assert (row["seconds"], row["accuracy"]) == (12.5, 0.987)
    assert report["figures"] == {"notebooks": 1, "seconds_all": 12.5}


def test_a_run_of_one_template_leaves_the_others_as_they_were():
    earlier = make_gallery.make_report({}, {"tensorflow/digits.ipynb": RECORD})
    later = make_gallery.make_report(earlier, {"horovod/digits.ipynb": RECORD | {"seconds": 7.5}})

    assert [row["seconds"] for row in later["notebooks"].values()] == [7.5, 12.5]


def test_a_row_keeps_the_date_machine_and_load_of_its_own_run():
    other = {"commit": "bbbbbbb000", "is_dirty": False, "cpu": "Intel Xeon"}
    earlier = make_gallery.make_report({}, {"tensorflow/digits.ipynb": RECORD})
    later = make_gallery.make_report(
        earlier,
        {"horovod/digits.ipynb": RECORD | {"date": "2026-11-23", "machine": other, "load": 0.1}},
    )

    rows = {row[0]: row[3:] for row in later["tables"][0]["rows"]}
    assert rows["`tensorflow/digits.ipynb`"] == ["2026-11-21", "cefa8c9", "AMD EPYC", 1.5]
    assert rows["`horovod/digits.ipynb`"] == ["2026-11-23", "bbbbbbb", "Intel Xeon", 0.1]
    assert later["machine"] == other


def test_a_template_that_is_gone_leaves_the_gallery():
    earlier = make_gallery.make_report({}, {"tensorflow/digits.ipynb": RECORD})
    earlier["notebooks"]["tensorflow/gone.ipynb"] = earlier["notebooks"]["tensorflow/digits.ipynb"]

    assert list(make_gallery.make_report(earlier, {})["notebooks"]) == ["tensorflow/digits.ipynb"]
