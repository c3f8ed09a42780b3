from dataclasses import replace
from pathlib import Path

from dsportal.launch.step import step_argv
from dsportal.task.plan import Plan
from tests.support import plans

PLAN = replace(plans.PLAN, n_ranks=2, working_dir="/home/ada", cores_per_node=16)


def argv(plan: Plan = PLAN, node: str = "node02") -> list[str]:
    return step_argv(
        plan,
        job_id=41,
        name="20261120-203845-train-k3v9",
        node=node,
        working_dir=Path("/home/ada/portal-runs/x"),
        command=["python", "-m", "dsportal.worker.rank", "/home/ada/portal-runs/x"],
    )


def test_the_step_belongs_to_the_job_and_node_of_the_session():
    assert {"--jobid=41", "--nodes=1", "--nodelist=node02", "--ntasks=2"} <= set(argv())


def test_the_step_shares_what_the_notebook_server_holds():
    assert {"--overlap", "--mem=0", "--cpu-bind=none"} <= set(argv())


def test_the_ranks_may_use_all_cores_of_the_session():
    assert "--cpus-per-task=8" in argv()


def test_one_bad_rank_ends_all():
    assert "--kill-on-bad-exit=1" in argv()


def test_slurm_tells_the_ranks_their_places_by_pmix_only_where_they_meet_over_mpi():
    assert "--mpi=none" in argv()
    assert "--mpi=pmix" in argv(replace(PLAN, mpi=True))


def test_the_command_comes_last_and_is_no_shell_text():
    assert argv()[-4:] == ["python", "-m", "dsportal.worker.rank", "/home/ada/portal-runs/x"]


def test_a_run_across_nodes_has_the_same_number_of_ranks_on_each():
    words = argv(replace(PLAN, n_ranks=8, n_nodes=2, cores_per_node=32), node="")

    assert {"--nodes=2", "--ntasks=8", "--ntasks-per-node=4", "--cpus-per-task=8"} <= set(words)
    assert not any(word.startswith("--nodelist") for word in words)
