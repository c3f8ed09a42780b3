"""What `spawner.client.slurm.Slurm` promises, with each version of Slurm."""

import asyncio
import secrets
from collections.abc import Callable

import pytest

from dsportal.slurm.states import JobState, Phase
from spawner.client.slurm import Slurm
from spawner.errors import JobRejectedError, SlurmError, SlurmUnavailableError
from spawner.slurm.job_script import Job
from spawner.slurm.jobs import JobEnd, JobKey
from tests.support.eventually import eventually_async

START_TIMEOUT_S = 30
NAME_PREFIX = "dsportal-contract-"


class SlurmContract:
    """Tests that ask for the fixtures `slurm`, `user` and `without_answer`."""

    def job(self, command: str, *options: str) -> Job:
        name = f"{NAME_PREFIX}{secrets.token_hex(6)}"
        argv = (
            f"--job-name={name}",
            "--comment=a job of the contract",
            "--nodes=1",
            "--ntasks=1",
            "--time=00:02:00",
            "--mem=100M",
            *options,
        )
        return Job(argv=argv, script=f"#!/bin/bash\n{command}\n")

    async def submitted(
        self, slurm: Slurm, user: str, command: str, environment: dict[str, str] | None = None
    ) -> JobKey:
        job = self.job(command)
        submission = await slurm.submit(user, job, environment or {})
        return JobKey(job_id=submission.job_id, user=user, name=job.argv[0].partition("=")[2])

    async def reached(self, slurm: Slurm, key: JobKey, *states: JobState) -> None:
        async def is_there() -> bool:
            (record,) = await slurm.list_jobs([key.job_id])
            assert record.key == key
            return record.state in states

        await eventually_async(is_there, START_TIMEOUT_S)

    async def ended(self, slurm: Slurm, key: JobKey) -> JobEnd:
        async def is_over() -> JobEnd | None:
            end = await slurm.read_end(key)
            is_final = end is not None and end.state is not JobState.COMPLETING
            return end if end and is_final and end.state.phase is Phase.OVER else None

        end = await eventually_async(is_over, START_TIMEOUT_S)
        assert end is not None
        return end

    async def test_a_job_is_seen_with_its_user_name_and_comment(
        self, slurm: Slurm, user: str
    ) -> None:
        key = await self.submitted(slurm, user, "exec sleep 60")

        (record,) = await slurm.list_jobs([key.job_id])
        assert record.key == key
        assert record.comment == "a job of the contract"
        assert record.state.phase in {Phase.WAITING, Phase.RUNNING}
        await self.reached(slurm, key, JobState.RUNNING)
        (record,) = await slurm.list_jobs([key.job_id])
        assert record.node
        await slurm.cancel(key)

    async def test_a_job_is_found_by_its_name(self, slurm: Slurm, user: str) -> None:
        key = await self.submitted(slurm, user, "exec sleep 60")

        (record,) = await slurm.find_jobs(name=key.name)
        assert record.key == key
        assert key in [record.key for record in await slurm.find_jobs()]
        assert await slurm.find_jobs(name=f"{key.name}x") == []
        await slurm.cancel(key)

    async def test_a_cancelled_job_ends_and_stays_visible(self, slurm: Slurm, user: str) -> None:
        key = await self.submitted(slurm, user, "exec sleep 60")
        await self.reached(slurm, key, JobState.RUNNING)

        assert await slurm.cancel(key)

        await self.reached(slurm, key, JobState.CANCELLED)
        end = await self.ended(slurm, key)
        assert end.state is JobState.CANCELLED
        assert not await slurm.cancel(key), "it is not there any more"

    async def test_cancelling_needs_the_name_of_the_very_job(self, slurm: Slurm, user: str) -> None:
        key = await self.submitted(slurm, user, "exec sleep 60")

        other = JobKey(job_id=key.job_id, user=user, name="dsportal-of-another-session")
        assert not await slurm.cancel(other)

        (record,) = await slurm.list_jobs([key.job_id])
        assert record.state.phase is not Phase.OVER
        assert await slurm.cancel(key)

    async def test_a_job_that_never_was_is_absent_and_no_error(
        self, slurm: Slurm, user: str
    ) -> None:
        key = await self.submitted(slurm, user, "true")
        nobody = JobKey(job_id=4_000_000, user=user, name="nobody")

        assert await slurm.list_jobs([nobody.job_id]) == []
        assert await slurm.list_jobs([]) == []
        (record,) = await slurm.list_jobs([nobody.job_id, key.job_id])
        assert record.key == key
        assert not await slurm.cancel(nobody)
        assert await slurm.read_end(nobody) is None
        assert await slurm.accounting.read_ends([nobody]) in ({}, None)

    async def test_an_exit_code_is_known_after_the_end(self, slurm: Slurm, user: str) -> None:
        key = await self.submitted(slurm, user, "exit 7")

        end = await self.ended(slurm, key)

        assert end.state is JobState.FAILED
        assert end.exit_code == 7

    async def test_environment_reaches_the_job_and_its_output_the_log(
        self, slurm: Slurm, user: str
    ) -> None:
        environment = {"MARK": "a b'c$(id)\nd", "LANG": "C.UTF-8"}
        command = 'printf "%s|%s|%s" "$MARK" "$USER" "$PWD"; test "$PWD" = "$HOME"'

        key = await self.submitted(slurm, user, command, environment)
        end = await self.ended(slurm, key)

        text = await slurm.read_log(key)
        assert text.startswith(f"{environment['MARK']}|{user}|/")
        assert end.state is JobState.COMPLETED

    async def test_a_job_without_a_log_has_an_empty_one(self, slurm: Slurm, user: str) -> None:
        assert await slurm.read_log(JobKey(job_id=4_000_000, user=user, name="x")) == ""

    async def test_a_refusal_is_told_in_words(self, slurm: Slurm, user: str) -> None:
        with pytest.raises(JobRejectedError) as caught:
            await slurm.submit(user, self.job("true", "--partition=nowhere"), {})

        assert "partition" in caught.value.message
        assert "sbatch: error" not in caught.value.message

    async def test_a_forecast_submits_nothing(self, slurm: Slurm, user: str) -> None:
        job = self.job("true")

        text = await slurm.test_submit(user, job)

        assert "to start at" in text
        assert await slurm.find_jobs(name=job.argv[0].partition("=")[2]) == []

    async def test_an_option_that_the_launcher_does_not_know_is_refused(
        self, slurm: Slurm, user: str
    ) -> None:
        job = self.job("true", "--wrap=id")

        with pytest.raises(SlurmError, match="launcher on the head node failed"):
            await slurm.submit(user, job, {})

        assert await slurm.find_jobs(name=job.argv[0].partition("=")[2]) == []

    async def test_a_variable_that_would_change_sbatch_is_refused(
        self, slurm: Slurm, user: str
    ) -> None:
        with pytest.raises(SlurmError, match="launcher on the head node failed"):
            await slurm.submit(user, self.job("true"), {"SBATCH_PARTITION": "x"})

    async def test_the_catalog_holds_a_partition_with_gpus(self, slurm: Slurm, user: str) -> None:
        catalog = await slurm.read_catalog()

        assert catalog.default_partition
        assert catalog.largest_node_gpus() >= 1

    async def test_the_accounts_of_a_user_are_known(self, slurm: Slurm, user: str) -> None:
        associations = await slurm.accounting.read_associations()

        assert associations.accounts(user)
        assert associations.allowed_qos(user)
        assert associations.accounts("nobody-of-this-name") == ()

    async def test_a_cluster_that_hides_nothing_can_be_followed(
        self, slurm: Slurm, user: str
    ) -> None:
        assert await slurm.explain_hidden() == ""

    async def test_no_answer_is_no_statement_about_any_job(
        self, slurm: Slurm, user: str, without_answer: Callable[[], None]
    ) -> None:
        key = await self.submitted(slurm, user, "exec sleep 20")
        without_answer()

        with pytest.raises(SlurmUnavailableError):
            await slurm.list_jobs([key.job_id])
        with pytest.raises(SlurmUnavailableError):
            await slurm.list_jobs([key.job_id, 4_000_000])
        with pytest.raises(SlurmUnavailableError):
            await slurm.read_catalog()
        with pytest.raises(SlurmUnavailableError):
            await slurm.read_end(key)

    async def test_jobs_submitted_at_once_are_told_apart(self, slurm: Slurm, user: str) -> None:
        keys = await asyncio.gather(*(self.submitted(slurm, user, "true") for _ in range(3)))

        records = await slurm.list_jobs([key.job_id for key in keys])

        assert {record.key for record in records} == set(keys)
