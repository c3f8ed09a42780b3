"""The contract of `Slurm`, kept by the fake cluster; and what only a fake can be made to do."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.support.slurm_contract")

from spawner.client.slurm import Slurm  # noqa: E402
from spawner.errors import SlurmError, SlurmUnavailableError  # noqa: E402
from spawner.slurm.jobs import JobKey  # noqa: E402
from spawner.slurm.states import JobState  # noqa: E402
from tests.programs.spawner.fake_cluster import FakeCluster  # noqa: E402
from tests.support.eventually import eventually  # noqa: E402
from tests.support.slurm_contract import SlurmContract  # noqa: E402


@pytest.fixture
def cluster(tmp_path: Path) -> FakeCluster:
    return FakeCluster(tmp_path)


@pytest.fixture
def slurm(cluster: FakeCluster) -> Slurm:
    return cluster.slurm


@pytest.fixture
def user(cluster: FakeCluster) -> str:
    return cluster.user


@pytest.fixture
def without_answer(cluster: FakeCluster) -> Callable[[], None]:
    return lambda: cluster.set("down", on=True)


class TestFakeSlurm(SlurmContract):
    """The fake keeps the promises of the real one."""

    async def test_a_command_that_hangs_is_given_up(
        self, cluster: FakeCluster, slurm: Slurm
    ) -> None:
        slurm = Slurm(
            launcher_argv=[], sudo_argv=[], timeout_s=0.3, path=f"{cluster.bin}:/usr/bin:/bin"
        )
        cluster.set("hang", on=True)
        before = time.monotonic()

        with pytest.raises(SlurmUnavailableError, match="Slurm is not responding"):
            await slurm.list_jobs([1])

        assert time.monotonic() - before < 5

    async def test_a_missing_program_is_no_statement_about_any_job(self) -> None:
        slurm = Slurm(launcher_argv=[], sudo_argv=["/nowhere/sudo"], path="/nowhere")

        with pytest.raises(SlurmUnavailableError):
            await slurm.list_jobs([1])
        with pytest.raises(SlurmUnavailableError):
            await slurm.cancel(JobKey(job_id=1, user="ada", name="x"))

    async def test_without_accounting_the_end_is_known_from_slurmctld(
        self, cluster: FakeCluster, slurm: Slurm, user: str
    ) -> None:
        cluster.set("no-accounting", on=True)
        key = await self.submitted(slurm, user, "exec sleep 60")
        await slurm.cancel(key)

        assert await slurm.accounting.read_ends([key]) is None
        end = await self.ended(slurm, key)
        assert end.state is JobState.CANCELLED

    async def test_without_accounting_nobody_has_limits_there(
        self, cluster: FakeCluster, slurm: Slurm, user: str
    ) -> None:
        cluster.set("no-accounting", on=True)

        associations = await slurm.accounting.read_associations()

        assert associations.ceiling(user).is_open

    async def test_a_hub_that_cannot_see_the_jobs_of_others_is_told_the_cure(
        self, cluster: FakeCluster, slurm: Slurm
    ) -> None:
        cluster.set("private", on=True)

        assert "adminlevel=operator" in await slurm.explain_hidden()
        cluster.set("operator", on=True)
        assert await slurm.explain_hidden() == ""

    async def test_a_hub_that_sees_jobs_of_others_needs_no_accounting_to_know_it(
        self, cluster: FakeCluster, slurm: Slurm, user: str
    ) -> None:
        cluster.set("private", on=True)
        cluster.set("no-slurmdbd", on=True)

        with pytest.raises(SlurmUnavailableError, match="slurmdbd"):
            await slurm.explain_hidden()
        key = await self.submitted(slurm, user, "exec sleep 60")
        assert await slurm.explain_hidden() == ""
        await slurm.cancel(key)

    async def test_a_job_that_its_user_cannot_cancel_any_more_is_an_error(
        self, cluster: FakeCluster, slurm: Slurm, user: str
    ) -> None:
        key = await self.submitted(slurm, user, "exec sleep 60")
        eventually(lambda: cluster.has_process(key.job_id), timeout_s=30)
        uid = str(os.getuid())

        cluster.change(key.job_id, uid="3000000001")
        with pytest.raises(SlurmError, match="uid may have changed"):
            await slurm.cancel(key)

        cluster.change(key.job_id, uid=uid)
        assert await slurm.cancel(key)

    async def test_any_number_of_jobs_is_asked_for(self, slurm: Slurm, user: str) -> None:
        key = await self.submitted(slurm, user, "true")
        keys = [replace(key, job_id=4_000_000_000 + number) for number in range(15_000)]

        ids = [one.job_id for one in (*keys, key)]
        assert [job.key for job in await slurm.list_jobs(ids)] == [key]
        assert list(await slurm.accounting.read_ends([*keys, key]) or {}) == [key]

    async def test_only_the_newest_logs_are_kept(
        self, cluster: FakeCluster, slurm: Slurm, user: str
    ) -> None:
        log_dir = cluster.home / ".local/state/data-scientist-portal/logs"
        log_dir.mkdir(parents=True)
        for number in range(1000, 1030):
            (log_dir / f"session-{number}.log").write_text("old")
        (log_dir / "notes.txt").write_text("mine")

        key = await self.submitted(slurm, user, "echo new")
        await self.ended(slurm, key)

        assert len(list(log_dir.glob("session-*.log"))) == 20
        assert (log_dir / "notes.txt").exists()
        # The folder was there before, open to all.
        assert log_dir.parent.stat().st_mode & 0o777 == 0o700

    async def test_many_sessions_of_one_user_start_at_once(
        self, cluster: FakeCluster, slurm: Slurm, user: str
    ) -> None:
        log_dir = cluster.home / ".local/state/data-scientist-portal/logs"
        log_dir.mkdir(parents=True)
        for number in range(1000, 1200):
            (log_dir / f"session-{number}.log").write_text("old")

        keys = await asyncio.gather(*(self.submitted(slurm, user, "true") for _ in range(12)))

        assert len({key.job_id for key in keys}) == 12
        for key in keys:
            await self.ended(slurm, key)

    async def test_a_log_that_is_a_link_or_a_pipe_is_not_read(
        self, cluster: FakeCluster, slurm: Slurm, user: str, tmp_path: Path
    ) -> None:
        log_dir = cluster.home / ".local/state/data-scientist-portal/logs"
        log_dir.mkdir(parents=True)
        (tmp_path / "secret").write_text("secret")
        (log_dir / "session-7.log").symlink_to(tmp_path / "secret")
        os.mkfifo(log_dir / "session-8.log")

        for job_id in (7, 8):
            assert await slurm.read_log(JobKey(job_id=job_id, user=user, name="x")) == ""

    async def test_a_slurm_variable_of_the_hubs_own_shell_changes_nothing(
        self, slurm: Slurm, user: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SQUEUE_FORMAT", "%i")
        monkeypatch.setenv("SLURM_TIME_FORMAT", "relative")
        key = await self.submitted(slurm, user, "printenv")
        await self.ended(slurm, key)

        assert "SQUEUE_FORMAT" not in await slurm.read_log(key)
