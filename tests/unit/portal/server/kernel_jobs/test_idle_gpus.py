"""When kernels lose GPUs that they do not use, with a clock of the test's own."""

import asyncio
import json
import logging
import time
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from portal.server.base.hub_api import HubError
from portal.server.kernel_jobs.idle_gpus import IdleGpus, format_hours
from portal.server.kernel_jobs.kernel_jobs import KernelJobs
from portal.server.kernel_jobs.known import Held
from portal.server.kernel_jobs.meter import USE, Use
from portal.server.kernel_jobs.request import GpuRequest
from portal.settings.idle import IdleSettings

POLICY = IdleSettings(after_minutes=30, warning_minutes=15, gpu_percent=5.0, cpu_percent=5.0)
STEP_S = 60.0


class OneKernel(KernelJobs):
    """The GPUs of one kernel, as a test sets them."""

    def __init__(self, folder: Path) -> None:
        job: Any = SimpleNamespace(folder=folder, job_id=7)
        request = GpuRequest(n_gpus=2, walltime_s=7200)
        self.all = {"k": Held(job=job, request=request, since_s=time.monotonic() - 5400)}
        self.runs = False
        self.asked: list[int] = []

    def held(self) -> dict[str, Held]:
        return self.all

    def is_busy(self, kernel_id: str) -> bool:
        return self.runs

    async def notebook_name(self, kernel_id: str) -> str:
        return "train.ipynb"

    async def change(self, kernel_id: str, request: Any, *_: Any) -> str:
        self.asked.append(request.n_gpus)
        self.all = {}
        return "The kernel runs in the session."


class Session:
    """Its kernel's GPUs are looked at once a minute."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.jobs = OneKernel(folder)
        self.reports: list[tuple[str, float]] = []
        self.noted: dict[int, float | None] = {}
        self.idle = IdleGpus(
            *(self.jobs, POLICY, STEP_S, logging.getLogger(), self.report, self.noted.__setitem__)
        )
        self.use = Use(gpu_percents=(0.0, 0.0), programs_percent=0.1)
        self.n = 0
        self.now_s = 0.0

    async def report(self, notebook: str, idle_s: float) -> None:
        self.reports.append((notebook, idle_s))
        raise HubError("The hub is not responding.", http_status=503)

    async def go_on(self, minutes: int, *, measured: bool = True) -> None:
        for _ in range(minutes):
            self.now_s += STEP_S
            self.n += measured
            (self.folder / USE).write_text(json.dumps({**asdict(self.use), "n_samples": self.n}))
            await self.idle.look(self.now_s)
        await asyncio.sleep(0)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


async def test_gpus_that_do_nothing_are_given_back_after_a_warning(session: Session) -> None:
    await session.go_on(30)
    assert session.idle.notices() == []

    await session.go_on(2)
    (warning,) = session.idle.notices()
    assert "train.ipynb have done nothing for 30 minutes" in warning
    assert "within 15 minutes" in warning

    await session.go_on(15)
    assert session.jobs.asked == [0]
    (told,) = session.idle.notices()
    assert told.endswith("for 45 minutes. The kernel runs in the session.")
    assert session.reports == [("train.ipynb", 2700)]


@pytest.mark.parametrize(
    "use",
    [
        {"gpu_percents": (0.0, 40.0)},
        {"programs_percent": 90.0},
        {"programs_percent": None},
    ],
    ids=["a GPU", "a program", "CPU that cannot be measured"],
)
async def test_what_computes_keeps_its_gpus(session: Session, use: dict[str, Any]) -> None:
    session.use = Use(**{**asdict(session.use), **use})
    await session.go_on(300)

    assert session.jobs.asked == []
    assert session.idle.is_used()


async def test_a_running_cell_keeps_its_gpus_and_one_after_the_warning_ends_it(
    session: Session,
) -> None:
    session.jobs.runs = True
    await session.go_on(300)
    session.jobs.runs = False
    await session.go_on(32)
    assert session.idle.notices()
    assert not session.idle.is_used()

    session.jobs.runs = True
    await session.go_on(1)
    assert session.idle.notices() == []
    assert session.jobs.asked == []


async def test_a_measurement_that_stands_still_takes_no_gpus(session: Session) -> None:
    await session.go_on(10)
    await session.go_on(300, measured=False)

    assert session.jobs.asked == []


def test_hours_held_are_shown_beside_hours_used_where_these_are_known(session: Session) -> None:
    (held,) = session.jobs.held().values()

    assert format_hours(held, Use(used_gpu_s=1080)) == "3.0 GPU hours held, 0.3 used"
    assert format_hours(held, Use()) == "3.0 GPU hours held"


async def test_the_average_use_of_the_job_is_noted(session: Session) -> None:
    session.use = Use(gpu_percents=(50.0, 0.0), mean_gpu_percent=25.0)

    await session.go_on(1)

    assert session.noted == {7: 25.0}
