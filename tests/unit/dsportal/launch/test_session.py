import pytest

from dsportal.errors import SessionError
from dsportal.launch.session import SessionAllocation, read_session

PORTAL_SESSION = {
    "SLURM_JOB_ID": "41",
    "SLURMD_NODENAME": "node02",
    "SLURM_CPUS_ON_NODE": "16",
    "SLURM_GPUS_ON_NODE": "2",
    "PORTAL_N_GPUS": "2",
    "PORTAL_GPUS_SIMULATED": "1",
}


def test_a_portal_session_is_read_from_its_environment():
    assert read_session(PORTAL_SESSION, n_usable_cores=40) == SessionAllocation(
        job_id=41, node="node02", n_gpus=2, n_cores=16, n_usable_cores=16, simulated_gpus=True
    )


def test_cores_that_the_machine_does_not_have_are_not_counted():
    found = read_session(PORTAL_SESSION, n_usable_cores=2)

    assert (found.n_cores, found.n_usable_cores) == (16, 2)


def test_a_job_that_was_submitted_from_a_session_is_not_that_session():
    inherited = {
        "PORTAL_SESSION_JOB_ID": "40",
        "PORTAL_SESSION_MEMORY_MIB": "98304",
        "PORTAL_WALLTIME_S": "3600",
    }
    job = {**PORTAL_SESSION, **inherited, "SLURM_GPUS_ON_NODE": "1", "SLURM_MEM_PER_NODE": "64"}
    found = read_session(job, n_usable_cores=40)

    assert (found.n_gpus, found.memory_mib, found.walltime_s) == (1, 64, 0)

    found = read_session({**job, "PORTAL_SESSION_JOB_ID": "41"}, n_usable_cores=40)

    assert (found.n_gpus, found.memory_mib, found.walltime_s) == (2, 98304, 3600)


def test_a_job_of_the_users_own_counts_by_slurm():
    environ = {"SLURM_JOB_ID": "41", "SLURM_GPUS_ON_NODE": "4", "SLURM_CPUS_ON_NODE": "32"}
    found = read_session(environ, n_usable_cores=40)

    assert (found.n_gpus, found.simulated_gpus) == (4, False)


def test_outside_of_slurm_the_error_says_where_to_go():
    with pytest.raises(SessionError, match=r"no Slurm job.*Start a session in the portal"):
        read_session({"HOME": "/home/ada"})


def test_a_count_that_is_no_number_is_shown():
    with pytest.raises(SessionError, match="'two' for the number of GPUs"):
        read_session({**PORTAL_SESSION, "PORTAL_N_GPUS": "two"})


def test_what_a_gpu_of_the_session_comes_with_is_known():
    found = read_session({**PORTAL_SESSION, "SLURM_MEM_PER_NODE": "98304"}, n_usable_cores=2)

    assert (found.cores_per_gpu, found.memory_mib_per_gpu) == (8, 49152)


def test_an_account_that_slurm_calls_null_is_none():
    found = read_session({**PORTAL_SESSION, "SLURM_JOB_ACCOUNT": "(null)"}, n_usable_cores=2)

    assert found.account == ""
