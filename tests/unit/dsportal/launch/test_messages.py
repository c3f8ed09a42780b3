import pytest

from dsportal.launch.layout import Layout
from dsportal.launch.messages import (
    explain_end,
    explain_never,
    explain_rejection,
    explain_waiting,
)


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        ("Resources", "The GPUs, cores or memory that the run needs are in use by other jobs."),
        ("(Priority)", "Other jobs are ahead of the run in the queue."),
        ("ReqNodeNotAvail, UnavailableNodes:node01", "the run could run are down: node01."),
        ("launch failed requeued held", "could not be started on it"),
        ("(null)", "the scheduler has not considered it yet"),
        ("NeverHeardOf", 'Slurm calls "NeverHeardOf".'),
    ],
)
def test_the_cell_says_why_a_run_waits(reason, sentence):
    assert sentence in explain_waiting(reason)


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ("TIMEOUT", "The run reached its time limit. Start it again when you need it."),
        ("NODE_FAIL", "The node node02 failed, or no longer served the run."),
        ("GONE", "Slurm no longer knows the run's job or how it ended."),
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


def test_an_array_that_is_over_a_number_of_jobs_is_told_that_its_points_count():
    said = "sbatch: error: AssocMaxSubmitJobLimit"

    assert "Each of the 10 points counts as a job: fewer may fit." in explain_rejection(said, 10)
    assert "points" not in explain_rejection(said)
    assert "points" not in explain_rejection("sbatch: error: QOSMaxGRESPerUser", 10)


@pytest.mark.parametrize(
    "reason",
    [
        *("QOSMaxWallDurationPerJobLimit", "AssocMaxNodePerJobLimit", "QOSMaxGRESPerJob"),
        *("QOSMaxGRESPerNode", "QOSMinGRES", "PartitionTimeLimit", "MaxMemPerLimit"),
        "BadConstraints",
    ],
)
def test_a_limit_of_one_job_never_passes(reason):
    said = explain_never(reason, Layout(n_ranks=1), 3600)

    assert said is not None
    assert said.startswith("You asked for 1 GPU on 1 node for 1 hour. ")
    assert said.endswith(f" Slurm calls the limit {reason}.")


@pytest.mark.parametrize(
    "reason",
    [
        *("None", "Resources", "Priority", "QOSMaxGRESPerUser", "AssocGrpGRES", "MaxJobsPerUser"),
        # Slurm says this too of a partition whose nodes are down.
        *("PartitionNodeLimit", "PartitionDown", "AssocGrpGRESMinutes", "NeverHeardOf"),
    ],
)
def test_a_run_waits_for_what_may_pass(reason):
    assert explain_never(reason, Layout(n_ranks=1), 3600) is None
