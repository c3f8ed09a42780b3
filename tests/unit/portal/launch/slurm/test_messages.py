from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from portal.launch.slurm.messages import WORDS_PATH, explain_end, explain_rejection, explain_waiting

DOCS = Path(__file__).parents[5] / "docs"


def test_the_sentences_are_those_of_the_portals_pages():
    spec = importlib.util.spec_from_file_location("make_run_words", DOCS / "make_run_words.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    is_current = WORDS_PATH.read_text(encoding="utf-8") == module.render_words()
    assert is_current, "The words have changed. Run: python docs/make_run_words.py"


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        ("Resources", "All GPUs, cores or memory that the run needs are taken at the moment."),
        ("(Priority)", "Other jobs are ahead of the run in the queue."),
        ("ReqNodeNotAvail, UnavailableNodes:node01", "could take the run are down: node01."),
        ("launch failed requeued held", "could not be started there"),
        ("(null)", "the scheduler has not looked at it yet"),
        ("NeverHeardOf", 'Slurm calls "NeverHeardOf".'),
    ],
)
def test_the_cell_says_why_a_run_waits(reason, sentence):
    assert sentence in explain_waiting(reason)


def test_a_limit_says_what_to_do():
    assert explain_waiting("QOSMaxGRESPerUser").endswith("this run then starts by itself.")


def test_a_node_that_is_switched_on_is_told_by_the_state():
    assert "switched on" in explain_waiting("None", "CONFIGURING")


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ("TIMEOUT", "The run reached its time limit. Start it again when you need it."),
        ("NODE_FAIL", "The node node02 failed while the run ran."),
        ("GONE", "Slurm no longer knows the run's job, nor how it ended."),
    ],
)
def test_the_cell_says_how_a_job_ended(state, sentence):
    assert sentence in explain_end(state, "node02")


@pytest.mark.parametrize(
    ("stderr", "sentence"),
    [
        (
            "sbatch: error: Batch job submission failed: Requested node configuration is not "
            "available",
            "No node",
        ),
        ("sbatch: error: QOSMaxGRESPerUser", "GPUs"),
        ("sbatch: error: our own plugin says no", "our own plugin says no"),
    ],
)
def test_the_cell_says_why_slurm_refused_a_run(stderr, sentence):
    text = explain_rejection(stderr)

    assert sentence in text
    assert "session" not in text.replace("portal sessions", "").replace("your sessions", "")
