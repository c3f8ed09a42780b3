from collections.abc import Sequence

import pytest

from dsportal.errors import LaunchError, RankError, StepError
from dsportal.notebook.failure import explain_failure
from dsportal.task.folder import RunFolder
from dsportal.task.plan import End, Failure


def failure(rank: int, time_s: float, summary: str) -> Failure:
    return Failure(
        rank=rank,
        node="node01",
        time_s=time_s,
        summary=summary,
        traceback_text=f"Traceback of rank {rank}",
    )


def explain(
    folder: RunFolder, slurm_lines: Sequence[str], *, n_ranks: int, status: int
) -> LaunchError:
    return explain_failure(folder, End(status=status, slurm_lines=tuple(slurm_lines)), n_ranks)


@pytest.fixture
def folder(tmp_path):
    return RunFolder(tmp_path)


def test_the_rank_that_failed_first_is_named_not_those_that_failed_of_it(folder):
    folder.write_failure(failure(0, 12.5, "HorovodInternalError: connection closed"))
    folder.write_failure(failure(1, 12.1, "ValueError: no such label"))
    error = explain(folder, [], n_ranks=2, status=1)

    assert isinstance(error, RankError)
    assert (error.rank, error.node) == (1, "node01")
    assert "ValueError: no such label" in str(error)
    assert "Traceback of rank 1" in str(error)
    assert str(folder.log_path(1)) in str(error)


@pytest.mark.parametrize(
    ("line", "rank", "how"),
    [
        ("srun: error: node01: task 1: Killed", 1, "Killed"),
        ("srun: error: node01: tasks 1-3: Segmentation fault", 1, "Segmentation fault"),
        ("srun: error: node01: task 0: Out Of Memory", 0, "Out Of Memory"),
    ],
)
def test_a_rank_that_left_no_traceback_is_named_by_slurm(folder, line, rank, how):
    folder.log_path(rank).write_text("epoch 3\n")
    error = explain(folder, ["srun: noise", line], n_ranks=4, status=137)

    assert isinstance(error, RankError)
    assert error.rank == rank
    assert how in str(error)
    assert "epoch 3" in str(error)


@pytest.mark.parametrize(
    "how",
    [
        *("Killed", "Out Of Memory", "Terminated", "Segmentation fault (core dumped)"),
        *("Exited with exit code 9", "Exited with exit code 1", "Bus error", "Illegal instruction"),
    ],
)
def test_a_rank_that_ended_is_named_not_those_that_lost_it(folder, how):
    folder.write_failure(failure(0, 12.5, "RuntimeError: Connection reset by peer"))
    lines = [
        f"srun: error: node02: task 1: {how}",
        "srun: error: node01: task 0: Exited with exit code 1",
    ]
    error = explain(folder, lines, n_ranks=2, status=137)

    assert isinstance(error, RankError)
    assert (error.rank, error.node) == (1, "node02")
    assert f"The process ended without a traceback: {how}." in str(error)


@pytest.mark.parametrize(
    "said",
    [
        "RuntimeError: [pair.cc:537] Read error [10.77.0.12]:48355: Connection reset by peer",
        "RuntimeError: Connection closed by peer [10.77.0.12]:1",
        "HorovodInternalError: allreduce failed",
        "UnknownError: {{function_node x}} Horovod has been shut down. This was caused by",
        "DistBackendError: NCCL error: remote process exited, connection closed by remote peer",
    ],
)
def test_a_rank_that_exits_is_named_though_who_lost_it_ended_a_moment_before(folder, said):
    folder.write_failure(failure(0, 12.5, said))
    lines = [
        "srun: error: node01: task 0: Exited with exit code 1",
        "srun: error: node02: task 1: Exited with exit code 9",
    ]

    assert explain(folder, lines, n_ranks=2, status=9).rank == 1


@pytest.mark.parametrize(
    ("said", "how"),
    [
        ("ValueError: no such label", "Exited with exit code 9"),
        ("RuntimeError: Connection reset by peer", "Aborted (core dumped)"),
    ],
)
def test_where_it_is_not_clear_who_ended_first_both_are_named(folder, said, how):
    folder.write_failure(failure(0, 12.5, said))
    lines = [
        "srun: error: node01: task 0: Exited with exit code 1",
        f"srun: error: node02: task 1: {how}",
    ]
    error = explain(folder, lines, n_ranks=2, status=9)

    assert error.rank == 0
    assert f"Rank 1 on node02 ended without a traceback: {how}." in str(error)


@pytest.mark.parametrize(
    "lines",
    [
        ["srun: error: node01: task 0: Exited with exit code 1", "srun: error: n: task 1: Killed"],
        ["srun: error: node02: task 1: Aborted"],
        ["srun: error: node01: task 0: Killed"],
    ],
    ids=["Slurm killed it afterwards", "it lost its peer", "it failed before"],
)
def test_a_rank_that_failed_before_another_was_ended_is_named(folder, lines):
    folder.write_failure(failure(0, 12.5, "ValueError: no such label"))
    error = explain(folder, lines, n_ranks=2, status=1)

    assert isinstance(error, RankError)
    assert error.rank == 0
    assert "no such label" in str(error)
    assert "Killed" not in str(error)


def test_a_node_that_failed_is_named_not_the_ranks_that_lost_it(folder):
    folder.write_failure(failure(0, 12.5, "RuntimeError: Connection reset by peer"))
    lines = [
        "srun: error: node01: task 0: Exited with exit code 1",
        "srun: error: Node failure on node02",
    ]
    error = explain(folder, lines, n_ranks=2, status=1)

    assert isinstance(error, StepError)
    assert "The node node02 failed, or no longer served the run." in str(error)
    assert f"Logs: {folder.path}" in str(error)


def test_a_plugin_for_mpi_that_does_not_load_is_told_with_what_it_lacks(folder):
    lines = [
        "srun: error:  mpi/pmix_v4: init: (null) [0]: mpi_pmix.c:195: pmi/pmix: can not load PMIx "
        "library",
        "srun: error: Invalid MPI type 'pmix', --mpi=list for acceptable types",
    ]
    error = explain(folder, lines, n_ranks=2, status=1)

    assert isinstance(error, StepError)
    assert "libpmix-dev" in str(error)
    assert "Leave mpi out, which uses Gloo" in str(error)
    assert lines[1] in str(error)


def test_where_slurm_started_nothing_its_own_words_are_shown(folder):
    lines = ["srun: error: Unable to create step for job 41: Invalid job id specified"]
    error = explain(folder, lines, n_ranks=2, status=1)

    assert isinstance(error, StepError)
    assert lines[0] in str(error)
