import re
import subprocess
from pathlib import Path

import pytest

from dsportal.errors import SessionError, StepError
from dsportal.launch.commands import (
    JobState,
    check_srun,
    job_state,
    parse_most_gpus,
    step_names,
    submit,
)
from dsportal.launch.layout import Layout, explain_too_many
from dsportal.launch.sbatch import JobRequest


@pytest.mark.parametrize(
    ("gres", "most"),
    [
        ("gpu:4\n", 4),
        ("gpu:v100:4(S:0-1)\n(null)\n", 4),
        ("gpu:a100:2,gpu:v100:1(S:0),mps:200\ngpu:1\n", 3),
        ("gpu:a100_1g.5gb:7(S:0)\n", 7),
        ("(null)\n", 0),
        ("", 0),
    ],
    ids=["plain", "typed", "two types", "MIG", "none", "no answer"],
)
def test_the_node_with_the_most_gpus_counts(gres, most):
    assert parse_most_gpus(gres) == most


@pytest.mark.parametrize(
    ("n_ranks", "n_nodes", "choice"),
    [
        (5, 1, "Choose gpus=4 or fewer, or gpus=6, nodes=2."),
        (8, 1, "Choose gpus=4 or fewer, or gpus=8, nodes=2."),
        (10, 2, "Choose gpus=8, nodes=2 or fewer, or gpus=12, nodes=3."),
    ],
)
def test_more_gpus_than_a_node_has_are_refused_with_what_fits(n_ranks, n_nodes, choice):
    said = explain_too_many(Layout(n_ranks=n_ranks, n_nodes=n_nodes), 4)

    assert said is not None
    assert said.startswith(f"You asked for {n_ranks} GPUs on ")
    assert "no node has more than 4." in said
    assert said.endswith(choice)


@pytest.mark.parametrize(
    ("n_ranks", "most_nodes", "choice"),
    [
        (9, 2, "Choose gpus=4 or fewer, or gpus=8, nodes=2."),
        (9, 1, "Choose gpus=4 or fewer."),
        (9, 3, "Choose gpus=4 or fewer, or gpus=9, nodes=3."),
    ],
)
def test_more_nodes_than_the_partition_gives_are_not_advised(n_ranks, most_nodes, choice):
    said = explain_too_many(Layout(n_ranks=n_ranks), 4, most_nodes)

    assert said is not None
    assert said.endswith(choice)


@pytest.mark.parametrize("most", [5, 8, 0])
def test_nothing_is_said_where_a_node_has_enough_or_nobody_knows(most):
    assert explain_too_many(Layout(n_ranks=5, n_nodes=1), most) is None


class Queue:
    """Slurm's commands around one job: what sinfo says of its partition, and why it waits."""

    def __init__(self) -> None:
        self.limits = "1|1-00:00:00|1-infinite\n"
        self.reasons = ["None", "Priority"]
        self.asked: list[str] = []

    def run(self, argv, **_):
        self.asked.append(argv[0])
        said = {"sinfo": self.limits, "sbatch": "7\n", "scancel": ""}
        return subprocess.CompletedProcess(argv, 0, said.get(argv[0]) or self._squeue(argv), "")

    def _squeue(self, argv):
        if argv[0] != "squeue":
            return ""
        reason = self.reasons.pop(0) if len(self.reasons) > 1 else self.reasons[0]
        line = next(word for word in argv if word.startswith("--format="))
        for letter, value in (("%T", "PENDING"), ("%N", ""), ("%r", reason)):
            line = line.replace(letter, value)
        return line.removeprefix("--format=") + "\n"


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Queue:
    """A queue without the pauses between two questions."""
    queue = Queue()
    monkeypatch.setattr("subprocess.run", queue.run)
    monkeypatch.setattr("dsportal.launch.commands._ASK_EVERY_S", 0)
    return queue


def request(n_nodes: int, partition: str = "gpu", walltime_s: int = 60) -> JobRequest:
    shape = Layout(n_ranks=n_nodes, n_nodes=n_nodes)
    return JobRequest(
        name="run",
        shape=shape,
        walltime_s=walltime_s,
        folder=Path("/home/ada/run"),
        partition=partition,
    )


def test_a_run_that_its_partition_never_starts_is_refused_and_not_queued(queue):
    with pytest.raises(SessionError, match=r"You asked for 2 nodes, .* gpu has 1 node"):
        submit(request(2), ["true"])

    assert queue.asked == ["sinfo"]


@pytest.mark.parametrize("fitting", [request(1), request(2, partition="")])
def test_a_run_that_fits_or_whose_partition_is_not_known_is_queued(queue, fitting):
    assert submit(fitting, ["true"]) == 7
    assert "scancel" not in queue.asked


def test_a_run_that_a_limit_of_its_account_keeps_in_the_queue_for_ever_is_cancelled(queue):
    queue.limits = "4|infinite|1-infinite\n"
    queue.reasons = ["None", "AssocMaxNodePerJobLimit"]

    with pytest.raises(SessionError) as refused:
        submit(request(2, walltime_s=3600), ["true"])

    assert str(refused.value) == (
        "You asked for 2 GPUs on 2 nodes for 1 hour. The run asks for more nodes than one run may"
        " have. Ask the administrators to raise the limit. Slurm calls the limit"
        " AssocMaxNodePerJobLimit."
    )
    assert queue.asked[-1] == "scancel"


class StandIn:
    """Slurm's commands: each prints the fields that it is told to print."""

    def __init__(self) -> None:
        self.jobs: list[dict[str, str]] = []
        self.accounted: list[tuple[str, ...]] = []
        self.forged = ""
        self.stderr = ""

    def run(self, argv, **_):
        options = dict(word.removeprefix("--").partition("=")[::2] for word in argv[1:])
        text = {"squeue": self._squeue, "sacct": self._sacct}[argv[0]](options)
        return subprocess.CompletedProcess(argv, int(bool(self.stderr)), text, self.stderr)

    def _squeue(self, options):
        lines = [
            re.sub("%([A-Za-z])", lambda letter, job=job: job[letter[1]], options["format"])
            for job in self.jobs
        ]
        return "".join(f"{line}\n" for line in [*lines, self.forged])

    def _sacct(self, options):
        self.stderr = ""
        return "".join(f"{options['delimiter'].join(row)}\n" for row in self.accounted)


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    slurm = StandIn()
    monkeypatch.setattr("subprocess.run", slurm.run)
    return slurm


@pytest.mark.parametrize(
    ("state", "is_waiting", "is_over"),
    [
        ("PENDING", True, False),
        ("REQUEUE_HOLD", True, False),
        ("RUNNING", False, False),
        ("SUSPENDED", False, False),
        ("COMPLETING", False, False),
        ("TIMEOUT", False, True),
        ("NEW_IN_A_LATER_SLURM", False, False),
    ],
)
def test_a_run_waits_or_is_over_only_if_slurm_says_so(slurm, state, is_waiting, is_over):
    slurm.jobs = [{"T": state, "N": "node[01-02]", "r": "odd|reason"}]

    job = job_state(7)

    assert job == JobState(state=state, nodes="node[01-02]", reason="odd|reason")
    assert (job.is_waiting, job.is_over) == (is_waiting, is_over)


def test_accounting_is_asked_for_a_job_that_squeue_has_forgotten(slurm):
    slurm.stderr = "slurm_load_jobs error: Invalid job id specified\n"
    slurm.accounted = [("7", "CANCELLED by 1000")]

    assert job_state(7) == JobState(state="CANCELLED")


def test_a_job_that_nobody_knows_is_over_and_one_that_slurm_does_not_answer_for_is_not(slurm):
    assert job_state(7).is_over

    slurm.stderr = "slurm_load_jobs error: Unable to contact slurm controller\n"

    assert not job_state(7).is_over


def test_a_line_that_somebody_wrote_into_a_name_is_no_step(slurm):
    slurm.jobs = [{"j": "20261120-203845-train-k3v9"}, {"j": "batch"}]
    slurm.forged = "guessed|20261120-203846-other-aaaa"

    assert step_names() == {"20261120-203845-train-k3v9", "batch"}


def test_without_srun_a_run_is_refused_with_a_way_to_train_in_an_image(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(StepError, match=r"there is no srun.*srun apptainer exec IMAGE"):
        check_srun()


def test_the_steps_of_one_job_are_not_known_if_slurm_does_not_answer(slurm):
    slurm.jobs = [{"j": "20261120-203845-train-k3v9"}]

    assert step_names(7) == {"20261120-203845-train-k3v9"}

    slurm.stderr = "slurm_load_jobs error: Unable to contact slurm controller\n"

    assert step_names(7) is None
