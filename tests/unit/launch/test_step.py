from __future__ import annotations

from pathlib import Path

from portal.launch.session import Session
from portal.launch.step import step_argv

SESSION = Session(
    job_id=41, node="node02", n_gpus=2, n_cores=16, n_usable_cores=2, simulated_gpus=True
)


def argv() -> list[str]:
    return step_argv(
        SESSION,
        n_ranks=2,
        name="20261120-203845-train-k3v9",
        working_dir=Path("/home/ada/portal-runs/x"),
        command=["python", "-m", "portal.launch.rank", "/home/ada/portal-runs/x"],
    )


def test_the_step_belongs_to_the_job_and_node_of_the_session():
    assert {"--jobid=41", "--nodes=1", "--nodelist=node02", "--ntasks=2"} <= set(argv())


def test_the_step_shares_what_the_notebook_server_holds():
    assert {"--overlap", "--mem=0", "--cpu-bind=none"} <= set(argv())


def test_the_ranks_may_use_all_cores_of_the_session():
    assert "--cpus-per-task=8" in argv()


def test_one_bad_rank_ends_all():
    assert "--kill-on-bad-exit=1" in argv()


def test_the_command_comes_last_and_is_no_shell_text():
    assert argv()[-4:] == ["python", "-m", "portal.launch.rank", "/home/ada/portal-runs/x"]
