"""An extension, from its request to the new end that pages show."""

import asyncio
from types import SimpleNamespace

import pytest

from spawner.client.command import ClusterAddress
from spawner.hub import extend_session
from spawner.options.traits import SiteTraits
from spawner.session.session import Session, job_comment
from spawner.slurm.associations import Associations
from spawner.slurm.budgets import Budgets
from spawner.slurm.jobs import JobKey, WaitingJob
from spawner.slurm.squeue import RunningJob

HOUR = 3600


async def test_the_answer_says_the_new_end_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    job = RunningJob(
        key=JobKey(job_id=42, user="ada", name="dsportal-0"),
        user_id=20001,
        limit_s=8 * HOUR,
        left_s=7 * HOUR,
        ends_at="2026-11-21T22:00:00",
        partition="jupyter",
        qos="",
        account="",
        comment=job_comment("hub"),
    )
    lengthened = []

    class Limits:
        def __init__(self, **settings: object) -> None:
            pass

        async def read_job(self, key: JobKey) -> RunningJob:
            return job

        async def list_waiting(self, partition: str) -> tuple[WaitingJob, ...]:
            return ()

        async def set_time_limit(self, job: RunningJob, limit_s: int) -> bool:
            lengthened.append(limit_s)
            return True

    class Ceilings:
        async def read_associations(self) -> Associations:
            return Associations()

    async def read_catalog() -> object:
        return SimpleNamespace(partitions={"jupyter": SimpleNamespace(max_walltime_s=None)})

    async def read_budgets_again(patience_s: float) -> None:
        pass

    said: dict[str, object] = {}
    spawner = SimpleNamespace(
        **dict.fromkeys(("extender_argv", "sudo_argv"), ()),
        slurm_user="slurm",
        slurm_timeout_s=1.0,
        extension_hours=2.0,
        max_extended_hours=12.0,
        max_extensions=2,
        extend_while_others_wait=False,
        extension_lock=asyncio.Lock(),
        session=Session(session_id="0", user="ada", job_id=42, walltime_s=8 * HOUR),
        on=lambda _cluster: SimpleNamespace(traits=SiteTraits()),
        cluster=SimpleNamespace(
            hub="hub",
            slurm=SimpleNamespace(accounting=Ceilings(), address=ClusterAddress()),
            catalog=SimpleNamespace(get=read_catalog),
            read_budgets_again=read_budgets_again,
            budgets=Budgets(),
        ),
        change_session=lambda **changes: said.update(changes),
        set_end=lambda **end: said.update(end),
    )
    monkeypatch.setattr(extend_session, "TimeLimits", Limits)

    await extend_session.extend_session(spawner)  # type: ignore[arg-type]

    assert lengthened == [10 * HOUR]
    assert said == {
        "walltime_s": 10 * HOUR,
        "n_extensions": 1,
        "left_s": 9 * HOUR,
        "ends_at": "2026-11-22T00:00:00",
    }
