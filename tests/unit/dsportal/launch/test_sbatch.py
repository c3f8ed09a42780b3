from dataclasses import replace
from pathlib import Path

from dsportal.launch.layout import Layout
from dsportal.launch.sbatch import JobRequest, job_environment, job_script, sbatch_argv

REQUEST = JobRequest(
    name="20261120-203845-train-k3v9",
    shape=Layout(n_ranks=8, n_nodes=2),
    walltime_s=7200,
    folder=Path("/home/ada/portal-runs/x"),
    cores_per_gpu=8,
    memory_mib_per_gpu=49152,
    partition="jupyter",
)


def test_each_gpu_comes_with_the_cores_and_memory_of_the_session():
    words = set(sbatch_argv(REQUEST))

    assert {"--nodes=2", "--ntasks=8", "--gpus-per-node=4", "--cpus-per-task=8"} <= words
    assert "--mem=196608M" in words


def test_what_the_session_does_not_know_is_left_to_the_partition():
    words = sbatch_argv(
        replace(REQUEST, cores_per_gpu=0, memory_mib_per_gpu=0, partition="", account="")
    )

    assert not any(
        word.startswith(("--cpus-per-task", "--mem", "--partition", "--account")) for word in words
    )


def test_ranks_are_told_before_the_limit_and_a_short_run_not_at_its_start():
    assert "--signal=B:USR1@90" in sbatch_argv(REQUEST)
    assert "--signal=B:USR1@20" in sbatch_argv(replace(REQUEST, walltime_s=60))


def test_slurm_writes_only_where_it_is_wanted_and_to_the_address_that_is_known():
    def mail(mail_to):
        words = sbatch_argv(replace(REQUEST, mail_to=mail_to))
        return [word for word in words if word.startswith("--mail")]

    assert mail(None) == []
    assert mail("") == ["--mail-type=END,FAIL"]
    assert mail("ada@example.org") == ["--mail-type=END,FAIL", "--mail-user=ada@example.org"]


def test_slurm_does_not_start_a_run_a_second_time():
    assert "--no-requeue" in sbatch_argv(REQUEST)


def test_a_path_with_a_blank_stays_one_word_of_the_script():
    assert job_script(["/opt/py", "/home/ada/my run"]).endswith("exec /opt/py '/home/ada/my run'\n")


def test_a_job_inherits_neither_the_login_nor_the_place_of_the_session():
    environ = job_environment(
        {
            "HOME": "/home/ada",
            "MY_SETTING": "1",
            "SLURM_CONF": "/etc/slurm.conf",
            "SLURM_NTASKS": "1",
            "SBATCH_PARTITION": "other",
            "CUDA_VISIBLE_DEVICES": "2",
            "JUPYTERHUB_API_TOKEN": "secret",
            "PORTAL_N_GPUS": "2",
            "PORTAL_GPUS_SIMULATED": "1",
        }
    )

    assert sorted(environ) == ["HOME", "MY_SETTING", "PORTAL_GPUS_SIMULATED", "SLURM_CONF"]


def test_the_points_of_a_sweep_are_an_array_whose_tasks_have_a_log_each():
    argv = sbatch_argv(replace(REQUEST, array="0-49%8"))

    assert "--array=0-49%8" in argv
    assert f"--output={REQUEST.folder}/job-%a.log" in argv


def test_slurm_runs_a_point_of_a_sweep_again_after_a_preemption_and_no_other_run():
    assert "--requeue" in sbatch_argv(replace(REQUEST, array="0-49%8"))
    assert "--requeue" not in sbatch_argv(REQUEST)
