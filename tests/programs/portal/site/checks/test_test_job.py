"""What the trial job's script and its findings are."""

from __future__ import annotations

import json
import os
import platform
import socket
import subprocess
import sys
import threading
import venv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest

from dsportal.slurm.states import JobState
from portal.hub.settings.loader import Settings
from portal.site.checks import test_job
from portal.site.checks.finding import Grade
from portal.site.checks.node_probe import lacking_python, probe_environment
from portal.site.checks.test_job import (
    CheckJobResult,
    build_test_job,
    node_probe_input,
    parse_found,
)
from portal.site.checks.test_job_findings import evaluate_test_job
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
    "hub": "",
    "home": "",
    "storage isilon": "",
    "templates": "",
    "reached": True,
    "environment server": f"version {__version__}",
    "environment tensorboard": f"version {__version__}",
    "kernels": {"python3": ""},
    "workplace": {"lacking": {}, "data": {}, "free_mib": {}},
}
OTHER_PYTHON = "needs Python 3.11, and /usr/bin/python3.13 there is 3.13.5"
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
    assert found["environment server"] == "missing"


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


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda: replace(GOOD, was_reached=False, clock_s=None), "accept ports 30000 to 32767"),
        (lambda: replace(GOOD, clock_s=-75.0), "75 s behind"),
        (lambda: replace(GOOD, found=FOUND | {"hub": "timed out"}), "does not reach the hub"),
        (
            lambda: replace(GOOD, found=FOUND | {"storage isilon": "Permission denied"}),
            "/srv/isilon",
        ),
        (lambda: replace(GOOD, found=FOUND | {"home": "Read-only"}), "the home cannot be written"),
        (lambda: replace(GOOD, found=FOUND | {"environment server": "missing"}), "does not load"),
        (lambda: replace(GOOD, found=FOUND | {"environment server": "version 0.0.1"}), "0.0.1"),
        (
            lambda: replace(GOOD, found=FOUND | {"environment server": OTHER_PYTHON}),
            "/usr/bin/python3.13 there is 3.13.5. Install that Python on the nodes",
        ),
        (lambda: replace(GOOD, found=FOUND | {"kernels": {"r": "gone"}}), "the kernel r"),
        (lambda: replace(GOOD, found=FOUND | {"kernels": {"t": OTHER_PYTHON}}), "--python"),
        (lambda: replace(GOOD, found=None, log="disk full"), "disk full"),
        (
            lambda: replace(
                GOOD, record=replace(RECORD, state=JobState.PENDING, reason="Resources")
            ),
            "Slurm says: Resources",
        ),
    ],
    ids=[
        *("port", "clock", "hub", "isilon", "home", "no server", "old server", "other python"),
        *("kernel", "python of a kernel", "no log", "queue"),
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
    ("python", "said"),
    [
        ("/no/python3.12", "needs Python 3.1 at /no/python3.12, which is not there"),
        (sys.executable, "needs Python 3.1, and {} there is {}"),
    ],
    ids=["none", "another"],
)
def test_a_node_whose_python_is_another_one_says_so(tmp_path: Path, python: str, said: str) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").symlink_to(python)
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.1.9\n")
    expected = said.format(os.path.realpath(python), platform.python_version())

    assert probe_environment(str(tmp_path), "server") == expected


def test_an_environment_of_the_node_s_python_is_loaded(tmp_path: Path) -> None:
    venv.create(tmp_path / "env", symlinks=True)

    assert lacking_python(str(tmp_path / "env")) == ""
    assert "No module named" in probe_environment(str(tmp_path / "env"), "tensorboard")
