from __future__ import annotations

import pytest

from portal.launch.errors import SessionError
from portal.launch.session import Session, read_session

PORTAL_SESSION = {
    "SLURM_JOB_ID": "41",
    "SLURMD_NODENAME": "node02",
    "SLURM_CPUS_ON_NODE": "16",
    "SLURM_GPUS_ON_NODE": "2",
    "PORTAL_N_GPUS": "2",
    "PORTAL_GPUS_SIMULATED": "1",
}


def session(n_gpus: int) -> Session:
    return read_session({**PORTAL_SESSION, "PORTAL_N_GPUS": str(n_gpus)}, n_usable_cores=40)


def test_a_portal_session_is_read_from_its_environment():
    assert read_session(PORTAL_SESSION, n_usable_cores=40) == Session(
        job_id=41, node="node02", n_gpus=2, n_cores=16, n_usable_cores=16, simulated_gpus=True
    )


def test_cores_that_the_machine_does_not_have_are_not_counted():
    found = read_session(PORTAL_SESSION, n_usable_cores=2)

    assert (found.n_cores, found.n_usable_cores) == (16, 2)


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


@pytest.mark.parametrize(("asked", "n_ranks"), [(None, 4), (1, 1), (4, 4)])
def test_there_is_one_rank_for_each_gpu(asked, n_ranks):
    assert session(4).check_ranks(asked, nodes=1) == n_ranks


@pytest.mark.parametrize("asked", [0, 5, -1, "two", "2", 2.0, True])
def test_a_number_of_gpus_that_cannot_be_is_named_with_the_limit(asked):
    with pytest.raises(SessionError) as refusal:
        session(4).check_ranks(asked, nodes=1)

    assert f"You asked for gpus={asked!r}; this session has 4. Choose 1 to 4" in str(refusal.value)


def test_a_session_of_one_gpu_offers_one():
    with pytest.raises(SessionError, match=r"this session has 1\. Choose 1, or"):
        session(1).check_ranks(2, nodes=1)


@pytest.mark.parametrize("nodes", [0, 2, "1", None, True])
def test_more_than_one_node_is_refused_with_the_way_out(nodes):
    with pytest.raises(SessionError, match=r"one node of the session.*sbatch"):
        session(4).check_ranks(2, nodes=nodes)


def test_a_session_without_gpus_says_so():
    with pytest.raises(SessionError, match="this session has no GPU"):
        session(0).check_ranks(None, nodes=1)
