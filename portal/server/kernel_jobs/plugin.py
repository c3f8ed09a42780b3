"""GPUs that belong to a kernel: by a button of the notebook, and by `%gpu` in a cell."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from functools import partial

from dsportal.amounts import SECONDS_PER_HOUR
from portal.server.base.feature import Feature, Plugin, Shared
from portal.server.base.kernel_listener import Death
from portal.server.kernel_jobs.asking import Letters
from portal.server.kernel_jobs.cells import Cells
from portal.server.kernel_jobs.follow_up import FollowUp
from portal.server.kernel_jobs.handlers import kernel_gpu_routes
from portal.server.kernel_jobs.idle_gpus import IdleGpus
from portal.server.kernel_jobs.kernel_jobs import KernelJobs
from portal.server.kernel_jobs.letters import KERNEL_ID
from portal.server.kernel_jobs.preference import read_preference
from portal.server.kernel_jobs.request import read_limits
from portal.server.kernel_jobs.slurm import KernelSlurm
from portal.server.kernel_jobs.starts import JobStarts
from portal.server.patches.kernel_manager import name_kernels


def load(shared: Shared) -> Feature:
    """Let kernels move to jobs with GPUs and back."""
    settings = shared.settings.kernel_jobs
    limits = read_limits(os.environ, settings)
    settings = replace(settings, max_hours=limits.max_walltime_s / SECONDS_PER_HOUR)
    read = partial(read_preference, shared.server)
    starts = JobStarts(shared.server, shared.settings, KernelSlurm(), limits, shared.hub)
    jobs = KernelJobs(shared.server, settings, starts, read)
    Cells(shared.server.kernel_manager, jobs, settings).listen(shared.listener)
    jobs.look_for_questions = Letters(jobs, settings).look
    name_kernels(shared.server.kernel_manager, KERNEL_ID)
    follow_up = FollowUp(shared.server, jobs.talks, settings, read)
    policy = shared.settings.idle
    interval_s, report = shared.settings.meter.interval_s, shared.hub.report_given_back
    note_use = shared.use_report.note
    idle = IdleGpus(jobs, policy, interval_s, shared.log, report, note_use)
    shared.notices.extend([jobs.notices, idle.notices])
    shared.is_used.append(idle.is_used)
    tasks: set[asyncio.Task[None]] = set()

    def on_death(death: Death) -> None:
        if not death.is_restarted:
            task = asyncio.create_task(jobs.end_job_of(death.kernel_id))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    shared.listener.on_death(on_death)

    async def stop() -> None:
        await idle.stop()
        await jobs.stop()

    return Feature(
        routes=kernel_gpu_routes(jobs, settings, idle, follow_up),
        page_data={"kernelGpus": True},
        prepare=follow_up.forget_old,
        start=idle.start,
        stop=stop,
    )


PLUGIN = Plugin(load, is_on=lambda settings: settings.kernel_jobs.enabled)
