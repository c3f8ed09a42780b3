"""CPU and memory of a job, from control groups of both versions and from processes."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from portal.server.base.cgroup import (
    MIB,
    Allotment,
    CgroupV1,
    CgroupV2,
    Processes,
    Usage,
    find_allotment,
    find_source,
)
from portal.server.base.gpus import GpuReading
from portal.server.base.resource_usage import Meter

JOB = {"SLURM_JOB_ID": "42"}


def put(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    (tmp_path / "proc/self").mkdir(parents=True)
    return tmp_path / "proc"


def test_version_1_is_read_without_the_file_cache(tmp_path: Path, proc: Path) -> None:
    path = "/slurm/uid_20001/job_42/step_batch/task_0"
    (proc / "self/cgroup").write_text(f"9:memory:{path}\n4:cpu,cpuacct:{path}\n1:name=systemd:/\n")
    put(tmp_path / "cpuacct/slurm/uid_20001/job_42", cpuacct__usage="2500000000\n")
    put(
        tmp_path / "memory/slurm/uid_20001/job_42",
        memory__usage_in_bytes=f"{300 * MIB}\n",
        memory__limit_in_bytes=f"{96 * 1024 * MIB}\n",
        memory__stat=f"cache 1\ntotal_inactive_file {100 * MIB}\n",
        memory__oom_control="oom_kill_disable 0\nunder_oom 0\noom_kill 0\n",
    )
    put(tmp_path / "memory/slurm/uid_20001/job_42/step_batch", memory__oom_control="oom_kill 2\n")

    source = find_source(JOB, proc=proc, cgroups=tmp_path)

    assert isinstance(source, CgroupV1)
    assert source.read() == Usage(cpu_s=2.5, memory_bytes=200 * MIB)
    assert source.n_killed_for_memory() == 2
    assert find_allotment({"SLURM_CPUS_ON_NODE": "1"}, source) == Allotment(1, 96 * 1024)


def test_version_2_is_read_without_the_file_cache(tmp_path: Path, proc: Path) -> None:
    scope = "system.slice/slurmstepd.scope/job_42"
    (proc / "self/cgroup").write_text(f"0::/{scope}/step_batch/user/task_0\n")
    put(
        tmp_path / scope,
        cpu__stat="usage_usec 1500000\nuser_usec 1\n",
        memory__current=f"{300 * MIB}\n",
        memory__max="max\n",
        memory__stat=f"anon 1\ninactive_file {100 * MIB}\n",
        memory__events="max 7\noom 1\noom_kill 1\n",
    )
    put(tmp_path / scope / "step_batch", cgroup__procs="50\n51\n")

    source = find_source(JOB, proc=proc, cgroups=tmp_path)

    assert isinstance(source, CgroupV2)
    assert source.read() == Usage(cpu_s=1.5, memory_bytes=200 * MIB)
    assert source.n_killed_for_memory() == 1
    assert source.pids() == [50, 51]
    environment = {"SLURM_CPUS_ON_NODE": "1", "PORTAL_SESSION_MEMORY_MIB": "4000"}
    assert find_allotment(environment, source) == Allotment(1, 4000)


@pytest.mark.parametrize("path", ["/slurm/uid_1/job_421/step_batch", "/user.slice", "/"])
def test_the_group_of_another_job_is_not_read(tmp_path: Path, proc: Path, path: str) -> None:
    (proc / "self/cgroup").write_text(f"0::{path}\n")

    assert isinstance(find_source(JOB, proc=proc, cgroups=tmp_path), Processes)


def test_without_a_limit_anywhere_there_is_none() -> None:
    assert find_allotment({}, Processes("")) == Allotment(os.cpu_count() or 1, None)


def test_a_job_has_no_more_cores_than_its_machine() -> None:
    promised = {"SLURM_CPUS_ON_NODE": "100000"}

    assert find_allotment(promised, Processes("")) == Allotment(os.cpu_count() or 1, None)


BUSY = "import time; end = time.process_time() + 0.3\nwhile time.process_time() < end: pass\n"


@pytest.fixture
def busy() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-c", BUSY + "print(flush=True); time.sleep(60)"],
        env={"SLURM_JOB_ID": "4242424242"},
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.readline()
    with process:
        yield process
        process.kill()


def test_processes_of_the_same_job_are_added_up(busy: subprocess.Popen[bytes]) -> None:
    source = Processes("4242424242")

    usage = source.read()

    assert usage.cpu_s >= 0.2
    assert usage.memory_bytes > MIB
    assert source.pids() == [busy.pid]
    assert Processes("4242424243").read() == Usage(cpu_s=0.0, memory_bytes=0)


def test_what_a_process_used_counts_on_after_its_end(busy: subprocess.Popen[bytes]) -> None:
    source = Processes("4242424242")
    before = source.read()
    busy.kill()
    busy.wait()

    assert source.read().cpu_s == pytest.approx(before.cpu_s, abs=0.01)


class Counter:
    """A stand-in for the job's control group."""

    def __init__(self) -> None:
        self.usage = Usage(cpu_s=0.0, memory_bytes=512 * MIB)

    def read(self) -> Usage:
        if self.usage.cpu_s < 0:
            raise OSError
        return self.usage


class NoGpus:
    """A node without GPUs."""

    def read(self) -> tuple[GpuReading, ...]:
        return ()


async def test_cpu_is_told_with_and_without_the_notebook_server() -> None:
    counter, now_s, own_s = Counter(), [100.0], [0.0]
    meter = Meter(
        counter,
        NoGpus(),
        Allotment(4, 1024),
        interval_s=5,
        own_cpu_s=lambda: own_s[0],
        now=lambda: now_s[0],
    )

    first = await meter.take_sample()
    now_s[0], own_s[0], counter.usage = 110.0, 1.0, Usage(cpu_s=11.0, memory_bytes=MIB)
    second = await meter.take_sample()
    counter.usage = Usage(cpu_s=-1, memory_bytes=0)
    third = await meter.take_sample()

    assert (first.cpu_percent, first.memory_mib) == (None, 512)
    assert second.cpu_percent == pytest.approx(110)
    assert second.programs_percent == pytest.approx(100)
    assert (third.cpu_percent, third.memory_mib) == (None, None)
    assert meter.samples == (first, second, third)


class HangingGpus:
    """A driver that does not answer."""

    def read(self) -> tuple[GpuReading, ...]:
        time.sleep(0.5)
        return ()


async def test_a_driver_that_hangs_takes_only_the_gpus_from_the_meter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("portal.server.base.resource_usage._READ_TIMEOUT_S", 0.05)
    meter = Meter(Counter(), HangingGpus(), Allotment(4, None), interval_s=5)

    samples = [await meter.take_sample(), await meter.take_sample()]

    assert [sample.gpus for sample in samples] == [None, None]
    assert all(sample.memory_mib == 512 for sample in samples)
