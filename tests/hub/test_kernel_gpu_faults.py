"""What becomes of a kernel with GPUs of its own while parts of a real cluster fail."""

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from deploy.one_machine.supervisor import pid_of
from tests.hub.test_kernel_gpus_of_site import site_with
from tests.lab.faults.slurm_faults import urgent_job
from tests.sessions.test_kernel_gpus import (
    FOLDER,
    USER,
    WHERE,
    Session,
    kernel_jobs,
    notices,
    own_session,
    run,
)
from tests.support import parts
from tests.support.eventually import eventually, throughout
from tests.support.kernels import ask, connect, leave_after, run_over
from tests.support.portal_client import sessions_of
from tests.support.put_back import put_back
from tests.support.websockets import close_websocket

pytestmark = pytest.mark.cluster
# What ends in one test would be told in the next one, too.
session = own_session

# Longer than the time after which a job without its session ends by itself.
AWAY_S = 40
# Twice what a job of `little_memory` has. Nothing that it printed is sure to arrive.
FILL = "full = b'x' * 2**31"


def node_of(job_id: str) -> str:
    return run("squeue", "-h", "-j", job_id, "-o", "%B")


def with_gpu(session: Session) -> str:
    """Give the kernel a GPU and a variable, and return its job."""
    session.run("%gpu 1")
    session.has(1)
    assert session.run("held = 7; print(held)") == "7\n"
    return kernel_jobs()[0].split()[1]


def is_told(session: Session, words: str) -> bool:
    return any(words in notice for notice in notices(session))


def expect_home(session: Session, why: str) -> None:
    """The kernel goes on in the session, and the tabs say why and what is lost."""
    session.has(0)
    eventually(lambda: is_told(session, why), timeout_s=30)
    assert is_told(session, "runs in the session again")
    assert not session.run(WHERE).startswith("kernel-of-")
    eventually(lambda: not kernel_jobs() and not list(FOLDER.iterdir()), timeout_s=60)


@contextmanager
def full_node(node: str) -> Iterator[None]:
    """Hold all GPUs of a node, so that the next job goes to the other one."""
    job = run(
        *("sbatch", "--parsable", "--uid=grace", "--chdir=/", "--mem=1G", f"--nodelist={node}"),
        *("--gpus-per-node=4", "--output=/dev/null", "--time=10", "--wrap=exec sleep 500"),
    )
    with put_back(("scancel", job)):
        eventually(lambda: node_of(job) == node, timeout_s=30)
        yield


@pytest.mark.release
def test_a_kernel_whose_job_reaches_its_limit_goes_on_without_gpus(session: Session) -> None:
    job = with_gpu(session)
    run("scontrol", "update", f"JobId={job}", "TimeLimit=1")

    eventually(lambda: session.gpus["gpus"] == 0, timeout_s=150)
    expect_home(session, "time limit")


@pytest.mark.release
def test_a_kernel_whose_node_is_lost_goes_on_without_gpus(session: Session) -> None:
    own = session.run("import os; print(os.environ['SLURMD_NODENAME'])").strip()
    with full_node(own):
        job = with_gpu(session)
        node = node_of(job)
        assert node != own
        # Slurm refuses it for a node that has come back by itself.
        resume = f"scontrol update NodeName={node} State=RESUME || true"
        with put_back(("sh", "-c", resume)):
            run("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=test")
            expect_home(session, "The node failed")


@pytest.mark.release
def test_a_kernel_whose_node_an_urgent_job_takes_goes_on_without_gpus(session: Session) -> None:
    own = session.run("import os; print(os.environ['SLURMD_NODENAME'])").strip()
    with full_node(own):
        node = node_of(with_gpu(session))
        with urgent_job("CANCEL", node, "--exclusive", "--mem=0"):
            expect_home(session, "higher priority")


@pytest.mark.release
def test_a_kernel_that_is_killed_starts_again_in_its_job_and_says_so(session: Session) -> None:
    job = with_gpu(session)
    # As the kernel of Linux does for memory.
    end = "import os; os.kill(os.getpid(), 9)"
    asyncio.run(leave_after(session, session.kernel, f"print('on', flush=True); {end}", "on"))

    eventually(lambda: is_told(session, "was killed (SIGKILL)"), timeout_s=60)
    assert "not defined" in session.run("held")
    assert session.run(WHERE).split()[1] == "1"
    assert [line.split()[1] for line in kernel_jobs()] == [job]


@pytest.fixture
def little_memory() -> Iterator[None]:
    """Let a GPU come with one GiB."""
    rule = re.compile("(memory_per_gpu_gib = )[0-9]+")
    with site_with(lambda settings: rule.sub(r"\g<1>1", settings)):
        yield


@pytest.mark.release
def test_a_kernel_that_fills_the_memory_of_its_job_starts_again_there_and_says_so(
    little_memory: None, session: Session
) -> None:
    job = with_gpu(session)
    asyncio.run(leave_after(session, session.kernel, FILL, ""))

    eventually(lambda: is_told(session, "the memory of its job was full"), timeout_s=60)
    assert is_told(session, "ask for more GPUs")
    assert "not defined" in session.run("held")
    assert session.run(WHERE).split()[1] == "1"
    assert [line.split()[1] for line in kernel_jobs()] == [job]


@pytest.mark.release
def test_a_kernel_whose_whole_job_ends_for_want_of_memory_goes_on_without_gpus(
    little_memory: None, session: Session
) -> None:
    job = with_gpu(session)
    # Linux kills what runs the job first, and then Slurm ends all of it.
    parent = "import os; open(f'/proc/{os.getppid()}/oom_score_adj', 'w').write('1000')"
    asyncio.run(leave_after(session, session.kernel, f"{parent}\n{FILL}", ""))

    expect_home(session, "used more memory than it had")
    assert run("sacct", "-nXP", "-j", job, "-o", "State") == "OUT_OF_MEMORY"
    assert is_told(session, "more GPUs, since memory comes with them")


def test_a_hub_that_is_restarted_changes_nothing_for_a_kernel_with_gpus(session: Session) -> None:
    job = with_gpu(session)

    with parts.stopped("hub"):
        assert [line.split()[1] for line in kernel_jobs()] == [job]

    eventually(lambda: session.client.http.get(f"{session.host}/hub/health").ok, timeout_s=60)
    assert session.run("print(held)") == "7\n"
    assert session.gpus["gpus"] == 1
    session.run("%gpu 0")
    session.has(0)


@pytest.mark.release
def test_a_slurm_that_is_away_ends_no_kernel_and_takes_gpus_back_later(session: Session) -> None:
    with_gpu(session)
    with parts.stopped("slurmctld"):
        throughout(lambda: session.gpus["gpus"] == 1, for_s=AWAY_S)
        assert session.run("print(held)") == "7\n"
        session.run("%gpu 0")
        session.has(0)
        assert not session.run(WHERE).startswith("kernel-of-")

    eventually(lambda: not kernel_jobs() and not list(FOLDER.iterdir()), timeout_s=90)


def test_output_of_a_cell_is_kept_while_no_tab_is_open(session: Session) -> None:
    with_gpu(session)
    code = "print('epoch 1', flush=True)\nimport time; time.sleep(3)\nprint('epoch 2')"
    asyncio.run(leave_after(session, session.kernel, code, "epoch 1", cell_id="trains"))

    kept = f"portal/api/kernels/{session.kernel}/executions"
    eventually(lambda: "epoch 2" in json.dumps(ask(session, "GET", kept)), timeout_s=60)


@contextmanager
def no_way(node: str, other: str) -> Iterator[None]:
    """Let nothing pass between two nodes; both still reach the head."""
    (address,) = re.findall(r"NodeAddr=(\S+)", run("scontrol", "show", "node", other))
    route = ("route", "add", "blackhole", address)
    with put_back(("nsenter", f"--target={pid_of(node)}", "--net", "ip", "route", "del", address)):
        parts.on_node(node, "ip", *route)
        yield


@pytest.mark.release
def test_output_of_a_minute_without_a_way_between_the_nodes_comes_later(session: Session) -> None:
    own = session.run("import os; print(os.environ['SLURMD_NODENAME'])").strip()
    with full_node(own):
        node = node_of(with_gpu(session))
        code = "import time\nfor n in range(70):\n    print(n, flush=True); time.sleep(1)"

        async def watch() -> str:
            socket = await connect(session, session.kernel)
            running = asyncio.create_task(run_over(socket, code))
            with no_way(own, node):
                still = lambda: session.gpus["gpus"] == 1  # noqa: E731
                await asyncio.to_thread(throughout, still, for_s=60)
            # TCP tries again after about as long as it has waited.
            shown = await asyncio.wait_for(running, 180)
            await close_websocket(socket)
            return shown

        assert asyncio.run(watch()).split() == [str(n) for n in range(70)]
        assert session.run("print(held)") == "7\n"


@pytest.mark.release
def test_the_job_of_a_session_that_died_without_a_word_ends_beside_the_next_one(
    session: Session,
) -> None:
    with_gpu(session)
    (lost,) = sessions_of(USER)
    run("scancel", "--full", "--signal=KILL", str(lost.job_id))
    eventually(lambda: not session.client.server(session.token), timeout_s=60)

    following = Session()
    assert not following.run(WHERE).startswith("kernel-of-")
    eventually(lambda: not kernel_jobs() and not list(FOLDER.iterdir()), timeout_s=120)
    following.client.stop(following.token)


def test_a_kernel_waits_for_its_gpu_while_the_hub_is_restarted(session: Session) -> None:
    nodes = run("sinfo", "-h", "-N", "-o", "%N").split()
    with ExitStack() as full:
        for node in dict.fromkeys(nodes):
            full.enter_context(full_node(node))
        session.run("held = 7")
        ask(session, "POST", f"portal/api/kernels/{session.kernel}/gpus", json={"gpus": 1})
        eventually(lambda: bool(kernel_jobs()), timeout_s=30)
        waiting = kernel_jobs()

        with parts.stopped("hub"):
            assert kernel_jobs() == waiting
        eventually(lambda: session.client.http.get(f"{session.host}/hub/health").ok, timeout_s=60)
        eventually(lambda: "Place" in session.gpus["reason"], timeout_s=60)
    session.has(1)
    assert kernel_jobs() == waiting
    assert session.run("print(held)") == "7\n"
