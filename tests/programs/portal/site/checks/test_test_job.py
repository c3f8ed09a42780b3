"""What the trial job's script and its findings are."""

import json
import os
import socket
import subprocess
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import AsyncMock

import pytest

from dsportal.slurm.states import JobState
from portal.hub.settings.loader import Settings
from portal.site.checks import test_job
from portal.site.checks.finding import Grade
from portal.site.checks.node_findings import FAULTS, evaluate_test_job
from portal.site.checks.test_job import (
    CheckJobResult,
    build_test_job,
    node_probe_input,
    parse_found,
)
from spawner import __version__
from spawner.programs.launcher import checked_arguments
from spawner.slurm.catalog import Catalog, Partition
from spawner.slurm.jobs import NAME_PREFIX, JobKey, JobRecord
from tests.support.slurm_nodes import idle_node

KEY = JobKey(job_id=7, user="ada", name="portal-check-1")
RECORD = JobRecord(
    key=KEY, state=JobState.COMPLETED, node="node01", starts_at="", comment="", reason="None"
)
FOUND: dict[str, Any] = {
    "reached": True,
    "faults": [],
    "n_kernels": 1,
    "free_mib": {"/home/ada": 12288, "/srv/isilon": 922112},
}
GOOD = CheckJobResult(
    key=KEY, record=RECORD, was_reached=True, clock_s=0.1, found=FOUND, address="10.0.0.1:30000"
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_the_launcher_takes_the_trial_job(settings: Settings) -> None:
    job = build_test_job(settings, name=KEY.name, partition="jupyter", n_gpus=1)

    assert checked_arguments(list(job.argv)) == list(job.argv)
    assert "--gpus-per-node=1" in job.argv
    assert subprocess.run(["bash", "-n"], input=job.script.encode(), check=False).returncode == 0


def test_the_script_tells_only_who_knows_the_secret_word(settings: Settings) -> None:
    """It runs here without Slurm, as its own user, with a server environment that is not there."""
    port = free_port()
    question = node_probe_input(settings, port=port, secret="word") | {
        "environments": {"server": "/nowhere", "tensorboard": "/nowhere"}
    }
    job = build_test_job(settings, name=KEY.name, partition="jupyter", n_gpus=0)
    environment = {"PROBE_QUESTION": json.dumps(question), "PROBE_PYTHON": "/nowhere/python"}
    process = subprocess.Popen(
        ["bash", "-c", job.script],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    answers: list[bytes] = []
    meeting = threading.Thread(target=lambda: answers.extend(ask(port) for _ in range(2)))
    meeting.start()
    log, _ = process.communicate(timeout=60)
    meeting.join()

    found = parse_found(log)
    assert answers[0] == b""
    assert "time" in json.loads(answers[1])
    assert found is not None
    assert found["reached"] is True
    assert ["server", "/nowhere", "missing"] in found["faults"]
    assert {row[0] for row in found["faults"]} <= FAULTS.keys()


words = iter(["wrong", "word"])


def ask(port: int) -> bytes:
    word = next(words)
    for _ in range(200):
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                connection.sendall(f"{word}\n".encode())
                return connection.recv(4096)
        except ConnectionRefusedError:
            threading.Event().wait(0.05)
    raise TimeoutError("the script does not listen")


async def test_a_node_of_any_partition_is_reached_at_its_address(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    default, other = idle_node("node01"), idle_node("node02")
    catalog = Catalog(
        partitions={
            "jupyter": Partition(
                name="jupyter", is_default=True, is_up=True, max_walltime_s=None, nodes=(default,)
            ),
            "big": Partition(
                name="big", is_default=False, is_up=True, max_walltime_s=None, nodes=(other,)
            ),
        }
    )

    async def find(*, name: str) -> list[JobRecord]:
        return [replace(RECORD, key=replace(KEY, name=name), node="node02")]

    slurm = AsyncMock()
    slurm.submit.return_value.job_id = KEY.job_id
    slurm.find_jobs = find
    slurm.read_catalog.return_value = catalog
    slurm.read_log.return_value = ""
    monkeypatch.setattr(test_job, "_meet", AsyncMock(return_value=0.1))

    trial = await test_job.run_test_job(
        slurm, settings, user="ada", partition="big", n_gpus=0, wait_s=1
    )

    assert trial.address.startswith("node02.cluster:")


def test_a_job_of_a_check_is_no_session() -> None:
    assert not test_job.new_name().startswith(NAME_PREFIX)


def test_a_job_that_found_nothing_wrong_is_in_order(settings: Settings) -> None:
    (finding,) = evaluate_test_job(GOOD, settings, partition="jupyter")

    assert finding.grade is Grade.OK
    assert "1 kernels" in finding.sentence
    assert finding.sentence.endswith("/home/ada has 12.0 GiB free, /srv/isilon 900.5.")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda: replace(GOOD, was_reached=False, clock_s=None), "accept ports 30000 to 32767"),
        (lambda: replace(GOOD, clock_s=-75.0), "75 s behind"),
        (lambda: replace(GOOD, found=None, log="disk full"), "disk full"),
        (
            lambda: replace(
                GOOD, record=replace(RECORD, state=JobState.PENDING, reason="Resources")
            ),
            "Slurm says: Resources",
        ),
    ],
    ids=[
        *("port", "clock", "no log", "queue"),
    ],
)
def test_each_fault_is_told_with_its_cure(
    settings: Settings, change: Callable[[], CheckJobResult], said: str
) -> None:
    (finding,) = evaluate_test_job(change(), settings, partition="jupyter")

    assert said in f"{finding.sentence} {finding.cure}"
    assert finding.grade is not Grade.OK
    assert finding.cure


@pytest.mark.parametrize(
    ("row", "grade", "said"),
    [
        (
            ["hub", "", "timed out"],
            Grade.PROBLEM,
            "does not reach the hub at 10.77.0.1:8081: timed",
        ),
        (
            ["home", "", "Read-only"],
            Grade.PROBLEM,
            "the home cannot be written on node01: Read-only",
        ),
        (
            ["storage", "/srv/isilon", "Denied"],
            Grade.WARNING,
            "/srv/isilon is not usable on node01",
        ),
        (["templates", "/t", "missing"], Grade.WARNING, "the templates /t are not on node01"),
        (["server", "/s", "missing"], Grade.PROBLEM, "/s does not load on node01: missing"),
        (["tensorboard", "/t", "missing"], Grade.WARNING, "/t does not load on node01: missing"),
        (["server python", "/s", "Python 3.11"], Grade.PROBLEM, "/s on node01 needs Python 3.11"),
        (
            ["tensorboard python", "/t", "Python 3.11"],
            Grade.WARNING,
            "/t on node01 needs Python 3.11",
        ),
        (["version", "/s", "0.0.1"], Grade.WARNING, f"0.0.1 of the portal, the hub {__version__}"),
        (["kernel", "r", "gone"], Grade.WARNING, "the kernel r does not start on node01: gone"),
        (
            ["kernel python", "r", "Python 3.11"],
            Grade.WARNING,
            "kernel r does not start on node01: needs",
        ),
        (
            ["workplace", "", "no answer in 60 s"],
            Grade.WARNING,
            "not known on node01: no answer in 60 s",
        ),
        (["sshd"], Grade.WARNING, "over ssh, but node01 has no sshd"),
        (["space", "/home/ada", "5 MiB free"], Grade.WARNING, "/home/ada on node01 has 5 MiB free"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_each_fault_on_a_node_is_told_with_its_cure(
    settings: Settings, row: list[str], grade: Grade, said: str
) -> None:
    trial = replace(GOOD, found=FOUND | {"faults": [row]})

    (finding,) = evaluate_test_job(trial, settings, partition="jupyter")

    assert finding.grade is grade
    assert said in finding.sentence
    assert finding.cure
