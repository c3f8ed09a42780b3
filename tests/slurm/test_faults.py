"""What becomes of sessions while parts of the cluster are away; tests/lab/faults has more of it."""

import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import requests

from spawner.session.session_end import SessionEnd
from tests.slurm.conftest import (
    USER,
    cancel_all,
    jobs_of,
    release,
    sessions,
    start,
    wait_until_ready,
)
from tests.support import parts
from tests.support.eventually import eventually, throughout
from tests.support.private_hub import PrivateHub
from tests.support.put_back import put_back

OTHER_USER = "ada"
HELD = {"req_options": "--hold"}
# A hub that looks often and gives up early shows the same in less time.
QUICK = {"watch_running_s": 2.0, "slurm_timeout_s": 3.0, "absent_s": 5.0}
pytestmark = [pytest.mark.cluster, pytest.mark.hub(**QUICK)]
REQUEUED = SessionEnd.of_requeue(0).error.message
# Long enough for several looks in vain, which are further and further apart.
HANG_S = 60


@pytest.fixture
def ready(hub: PrivateHub) -> PrivateHub:
    """A hub with a session that is ready."""
    start(hub)
    wait_until_ready(hub)
    return hub


@pytest.fixture(autouse=True)
def whole_cluster() -> Iterator[None]:
    """Both nodes take jobs, before and after."""
    yield
    eventually(lambda: _node_states() <= {"idle", "mixed"}, timeout_s=60)


def _node_states() -> set[str]:
    return set(_run("sinfo", "-h", "-N", "-o", "%T").split())


def _run(*argv: str) -> str:
    done = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=60)
    return done.stdout.strip()


def is_same(hub: PrivateHub, before: dict[str, object]) -> bool:
    """The session is ready, with the same job as before."""
    return bool(hub.server(USER).get("ready")) and hub.session(USER) == before


def new_log(hub: PrivateHub, n_seen: int) -> str:
    return hub.log()[n_seen:]


@contextmanager
def answering(hub: PrivateHub) -> Iterator[None]:
    """The hub answers others quickly all the while."""
    slowest_s, is_over = [0.0], threading.Event()

    def ask() -> None:
        while not is_over.wait(0.1):
            before = time.monotonic()
            requests.get(f"{hub.address}/health", timeout=30)
            slowest_s[0] = max(slowest_s[0], time.monotonic() - before)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
    # Whoever waits for a Slurm that hangs waits for longer; a busy machine does not.
    assert slowest_s[0] < 5


@pytest.mark.release
def test_a_slurmctld_that_hangs_for_a_minute_stops_neither_hub_nor_session(
    ready: PrivateHub,
) -> None:
    before, n_seen = ready.session(USER), len(ready.log())

    with parts.frozen("slurmctld"), answering(ready):
        throughout(lambda: is_same(ready, before), for_s=HANG_S)
        assert "No session is touched" in new_log(ready, n_seen)

    eventually(lambda: "Slurm answers again" in new_log(ready, n_seen), timeout_s=90)
    assert is_same(ready, before)


@pytest.mark.release
@pytest.mark.hub(**QUICK, **HELD)
def test_a_submit_that_slurmctld_forgot_is_reported_and_the_next_owner_of_its_id_left_alone(
    hub: PrivateHub,
) -> None:
    with parts.remembered_controller() as crash:
        start(hub)
        (job,) = eventually(sessions, timeout_s=20)
        crash()
        assert not sessions()
        other_id = 0
        while other_id < job.job_id:
            other_id = int(
                _run(
                    *("sbatch", "--parsable", f"--uid={OTHER_USER}", "--chdir=/", "--mem=1G"),
                    *("--output=/dev/null", "--time=5", "--wrap=exec sleep 300"),
                )
            )
    assert other_id == job.job_id, "the id was given out again"

    eventually(lambda: not hub.server(USER), timeout_s=60)

    assert other_id in [j.job_id for j in jobs_of(OTHER_USER)]
    _run("scancel", str(other_id))
    hub.start(**QUICK)
    start(hub)
    wait_until_ready(hub)


@pytest.mark.release
@pytest.mark.hub(**QUICK, **HELD)
def test_a_session_that_slurmctld_forgot_to_have_started_ends_with_the_truth(
    hub: PrivateHub,
) -> None:
    n_seen = len(hub.log())
    start(hub)
    (job,) = eventually(sessions, timeout_s=20)
    with parts.remembered_controller() as crash:
        release()
        wait_until_ready(hub)
        # To slurmctld the job waits again, and it ends what of it runs on the node.
        crash()

    eventually(lambda: not hub.server(USER), timeout_s=90)
    eventually(lambda: not sessions(), timeout_s=30)
    assert f"Job {job.job_id} of {USER}: {REQUEUED}" in new_log(hub, n_seen)


def test_a_session_whose_job_is_requeued_ends_with_the_truth(ready: PrivateHub) -> None:
    job_id, n_seen = str(ready.session(USER)["job_id"]), len(ready.log())
    _run("scontrol", "update", f"JobId={job_id}", "Requeue=1")

    _run("scontrol", "requeue", job_id)

    eventually(lambda: not ready.server(USER), timeout_s=60)
    eventually(lambda: not sessions(), timeout_s=30)
    assert f"Job {job_id} of {USER}: {REQUEUED}" in new_log(ready, n_seen)
    start(ready)
    wait_until_ready(ready)


def answers(hub: PrivateHub) -> bool:
    session = hub.session(USER)
    url = f"http://{session['address']}:{session['port']}/user/{USER}/api"
    return requests.get(url, timeout=5).ok


def test_a_slurmd_that_is_killed_and_comes_back_harms_no_session(ready: PrivateHub) -> None:
    before = ready.session(USER)
    node = _run("squeue", "-h", "-j", str(before["job_id"]), "-o", "%B")

    parts.on_node(node, "pkill", "-KILL", "-x", "slurmd(-wlm)?")
    parts.start(node)

    eventually(lambda: _node_states() <= {"idle", "mixed"}, timeout_s=60)
    assert is_same(ready, before)
    assert answers(ready)


def test_without_munge_a_start_is_refused_in_words_and_a_session_goes_on(
    ready: PrivateHub,
) -> None:
    before, n_seen = ready.session(USER), len(ready.log())
    ready.rest("POST", f"/users/{OTHER_USER}")
    # A job that is COMPLETING could not tell its end without munge.
    eventually(lambda: not jobs_of(OTHER_USER), timeout_s=40)

    with parts.stopped("munge"):
        answer = ready.rest("POST", f"/users/{OTHER_USER}/server", {"gpus": 1})
        eventually(lambda: "No session is touched" in new_log(ready, n_seen), timeout_s=40)

    assert answer.status_code == 503
    assert "Slurm is not responding" in answer.json()["message"]
    eventually(lambda: "Slurm answers again" in new_log(ready, n_seen), timeout_s=90)
    assert is_same(ready, before)
    assert not jobs_of(OTHER_USER)


@pytest.mark.release
def test_a_session_that_does_not_answer_when_the_hub_comes_back_is_kept(
    ready: PrivateHub,
) -> None:
    before = ready.session(USER)
    job_id = str(before["job_id"])
    _run("scancel", "--full", "--signal=STOP", job_id)

    ready.kill()
    ready.start(**QUICK, http_timeout=2, poll_interval=1)
    n_seen = len(ready.log())

    # Twice the time after which JupyterHub's own check gives up, and several polls.
    throughout(lambda: is_same(ready, before), for_s=5)

    assert "appears to have stopped" not in new_log(ready, n_seen)
    _run("scancel", "--full", "--signal=CONT", job_id)
    eventually(lambda: answers(ready), timeout_s=20)
    _run("scancel", job_id)
    eventually(lambda: not ready.server(USER), timeout_s=30)


def test_a_cluster_that_hides_jobs_from_the_hub_is_refused_with_its_cure(hub: PrivateHub) -> None:
    with parts.slurm_setting("PrivateData=jobs"):
        hub.kill()
        hub.start(**QUICK)

        answer = hub.rest("POST", f"/users/{USER}/server", {"gpus": 1})

        assert answer.status_code == 503
        assert "adminlevel=operator" in answer.json()["message"]
        assert not sessions()
        with put_back(("sacctmgr", "-i", "delete", "user", "dsportal")):
            _run("sacctmgr", "-i", "add", "user", "dsportal", "account=root", "adminlevel=operator")
            try:
                hub.kill()
                hub.start(**QUICK)
                start(hub)
                wait_until_ready(hub)
            finally:
                cancel_all()


def test_a_limit_of_slurms_accounting_is_told_before_anything_is_submitted(
    hub: PrivateHub,
) -> None:
    (account,) = _run("sacctmgr", "-nP", "show", "assoc", f"user={USER}", "format=account").split()
    where = ("where", f"name={USER}", f"account={account}")
    change = ("sacctmgr", "-i", "modify", "user", *where, "set")
    with put_back((*change, "MaxTRES=gres/gpu=-1", "MaxWall=-1")):
        _run(*change, "MaxTRES=gres/gpu=1", "MaxWall=2:00:00")
        try:
            hub.kill()
            hub.start(**QUICK)

            many = hub.rest("POST", f"/users/{USER}/server", {"gpus": 2})
            long = hub.rest("POST", f"/users/{USER}/server", {"gpus": 1, "hours": 4})
        finally:
            hub.kill()

    assert (many.status_code, long.status_code) == (400, 400)
    assert f"1 (limit of the account {account})" in many.json()["message"]
    assert f"at most 2 hours (limit of the account {account})" in long.json()["message"]
    assert not sessions()
