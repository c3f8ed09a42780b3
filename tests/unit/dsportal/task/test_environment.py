from dsportal.task.environment import (
    rank_environment,
    step_environment,
)
from dsportal.task.placement import Placement


def place(rank: int, *, n_nodes: int = 1) -> Placement:
    return Placement(
        rank=rank,
        size=2,
        local_rank=rank // n_nodes,
        local_size=2 // n_nodes,
        cross_rank=rank % n_nodes,
        cross_size=n_nodes,
        node="node01",
    )


def environment(rank: int, environ=None, *, simulated_gpus=True, n_nodes=1, mpi=False):
    return rank_environment(
        place(rank, n_nodes=n_nodes),
        environ or {},
        n_threads=8,
        simulated_gpus=simulated_gpus,
        rendezvous=("127.0.0.1:4711/secret", 0),
        mpi=mpi,
    )


def test_the_options_of_the_session_do_not_become_options_of_the_step():
    environ = step_environment(
        {
            "PATH": "/usr/bin",
            "SLURM_JOB_ID": "41",
            "SLURM_CONF": "/etc/slurm/slurm.conf",
            "SLURM_NTASKS": "1",
            "SLURM_CPUS_PER_TASK": "16",
            "SLURM_MEM_PER_NODE": "98304",
            "SLURM_EXPORT_ENV": "PATH",
            "SRUN_CPUS_PER_TASK": "16",
            "SBATCH_PARTITION": "jupyter",
            "HOROVOD_CYCLE_TIME": "5",
        }
    )

    assert environ == {
        "PATH": "/usr/bin",
        "SLURM_JOB_ID": "41",
        "SLURM_CONF": "/etc/slurm/slurm.conf",
        "HOROVOD_CYCLE_TIME": "5",
        "PYTHONUNBUFFERED": "1",
    }


def test_a_rank_is_told_its_place_and_where_to_meet():
    values = environment(1)

    assert (values["HOROVOD_RANK"], values["HOROVOD_SIZE"]) == ("1", "2")
    assert (values["HOROVOD_LOCAL_RANK"], values["HOROVOD_LOCAL_SIZE"]) == ("1", "2")
    assert (values["HOROVOD_CROSS_RANK"], values["HOROVOD_CROSS_SIZE"]) == ("0", "1")
    assert values["HOROVOD_GLOO_RENDEZVOUS_ADDR"] == "127.0.0.1:4711/secret"
    assert values["HOROVOD_GLOO_RENDEZVOUS_PORT"] == "0"


def test_ranks_of_one_node_talk_over_the_loopback_alone():
    assert environment(0)["HOROVOD_GLOO_IFACE"] == "lo"
    assert "HOROVOD_GLOO_IFACE" not in environment(0, n_nodes=2)


def test_ranks_that_meet_over_mpi_are_told_nothing_of_gloo():
    over_gloo, over_mpi = environment(1), environment(1, mpi=True)

    assert over_gloo["HOROVOD_CONTROLLER"] == over_gloo["HOROVOD_CPU_OPERATIONS"] == "gloo"
    assert over_mpi["HOROVOD_CONTROLLER"] == over_mpi["HOROVOD_CPU_OPERATIONS"] == "mpi"
    assert not any(name.startswith("HOROVOD_GLOO_") for name in over_mpi)
    assert over_mpi["HOROVOD_RANK"] == "1"


def test_cores_are_divided_whatever_the_site_set():
    values = environment(0, {"OMP_NUM_THREADS": "64", "TF_NUM_INTRAOP_THREADS": "64"})

    assert values["OMP_NUM_THREADS"] == values["TF_NUM_INTRAOP_THREADS"] == "8"


def test_horovods_cycle_is_longer_on_cpus_only_and_a_user_can_set_it():
    gpus = {"CUDA_VISIBLE_DEVICES": "0,1"}

    assert int(environment(0)["HOROVOD_CYCLE_TIME"]) > 1
    assert environment(0, {"HOROVOD_CYCLE_TIME": "7"})["HOROVOD_CYCLE_TIME"] == "7"
    assert "HOROVOD_CYCLE_TIME" not in environment(0, gpus, simulated_gpus=False)
