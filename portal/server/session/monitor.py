"""The session around the notebook server: time left, resource usage, idle timeout, suspension."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from jupyter_server.serverapp import ServerApp

from portal.server.base.authorization import whole_number
from portal.server.base.cgroup import find_allotment, find_source
from portal.server.base.gpus import Gpus
from portal.server.base.hub_api import HubApi, HubError
from portal.server.base.idle import IdleState, IdleWatch, Observation
from portal.server.base.kernel_listener import KernelListener
from portal.server.base.open_notebooks import notebook_of, notebooks_by_kernel
from portal.server.base.periodic import PeriodicCall
from portal.server.base.processes import ProcessReader
from portal.server.base.resource_usage import Meter, Sample
from portal.server.base.total_use import TotalUse
from portal.server.base.use_report import UseReport
from portal.server.session.advice import advise
from portal.server.session.cells import CellRuns
from portal.server.session.dead_kernels import DeadKernels
from portal.server.session.time_left import SessionClock
from portal.settings.session_tables import read_settings

SUSPENSION_EVENT = "https://data-scientist-portal.example/events/suspension"
SUSPENDED = (
    "An administrator has suspended this session. It answers nothing until they resume it, and "
    "then continues where it was. Nothing in it is lost."
)
_SUSPENSION_SCHEMA = {
    "$id": SUSPENSION_EVENT,
    "version": "1",
    "title": "Suspension of the session",
    "description": "Slurm is about to stop the processes of the session's job.",
    "type": "object",
    "required": ["sentence"],
    "properties": {"sentence": {"type": "string", "description": "What the user is told."}},
}


class SessionMonitor:
    """The state that pages poll, and the actions that they may request.

    Args:
        is_working: Returns whether something but a kernel uses the session.
        program_names: Returns the names of programs such as TensorBoard by process id.
    """

    def __init__(
        self,
        serverapp: ServerApp,
        listener: KernelListener,
        *,
        is_working: Callable[[], bool],
        notices: Sequence[Callable[[], Sequence[str]]],
        program_names: Callable[[], Mapping[int, str]],
        use_report: UseReport,
        hub: HubApi,
    ) -> None:
        environment, settings = os.environ, read_settings(os.environ)
        self._server = serverapp
        self._log = serverapp.log
        self._hub = hub
        self.clock = SessionClock(hub, environment)
        self.meter = _make_meter(environment, settings.meter.interval_s)
        self.has_simulated_gpus = environment.get("PORTAL_GPUS_SIMULATED") == "1"
        self.n_gpus = whole_number(environment.get("PORTAL_N_GPUS", ""), 0)
        self._idle = IdleWatch(settings.idle, time.monotonic())
        self._is_working = is_working
        self._is_suspended = False
        self._notices = notices
        self._dead_kernels = DeadKernels(
            find_source(environment), partial(notebook_of, serverapp.session_manager), self._log
        )
        self._dead_kernels.listen(listener)
        self._cell_runs = CellRuns()
        if self.meter is not None:
            self._cell_runs.listen(listener)
        self._program_names = program_names
        # Nobody has opened it yet.
        self._input_s = 0.0
        self._samples: PeriodicCall | None = None
        self._is_given_back = False
        self._total = TotalUse()
        self._use_report = use_report
        self._job_id = whole_number(environment.get("SLURM_JOB_ID", ""), 0)
        serverapp.event_logger.register_event_schema(_SUSPENSION_SCHEMA)

    def start(self) -> None:
        """Start sampling, and listen for Slurm's signals: time limit, suspension, resumption.

        Source:
            slurmstepd of 22.05 to 25.11, _rpc_suspend: SIGTSTP, and SIGSTOP two seconds later.
        """
        loop = asyncio.get_running_loop()
        # Replaces the server's own handler, which would only print a line.
        loop.add_signal_handler(signal.SIGUSR1, self._on_signal)
        loop.add_signal_handler(signal.SIGTSTP, self._on_suspension)
        loop.add_signal_handler(signal.SIGCONT, self._on_resumption)
        if self.meter is not None:
            self._samples = PeriodicCall(partial(self._sample, self.meter), self.meter.interval_s)
            self._samples.start()
            self._use_report.start()

    async def stop(self) -> None:
        """Stop sampling, and write into the session's log what it used."""
        if self._samples is not None:
            await self._samples.stop()
        await self._use_report.stop()
        if self.meter is not None and (words := self._total.words(self.meter.allotment)):
            self._log.info("%s", words)

    async def left_s(self) -> int | None:
        """Return the seconds until the end; None if there is no limit or none is known."""
        return (await self.clock.read()).left_s

    def note_input(self, age_s: float) -> None:
        """Note that somebody typed, clicked or pointed in a tab `age_s` ago."""
        self._input_s = max(self._input_s, time.monotonic() - max(0.0, age_s))

    def keep(self) -> None:
        """Keep the session although nothing computes in it."""
        self.note_input(0)
        self._idle.keep(time.monotonic())

    async def describe(self) -> dict[str, Any]:
        """Return what pages show all the time: time left, notices, last sample, idle state."""
        time_left = await self.clock.read()
        return {
            "clock": asdict(time_left),
            "notices": (
                *self.clock.notices,
                *([SUSPENDED] if self._is_suspended else ()),
                *self._dead_kernels.notices(),
                *(text for read in self._notices for text in read()),
                *getattr(self._server, "notices", ()),
            ),
            "meter": self._describe_now(),
            "idle": asdict(self._idle.view()),
        }

    def describe_history(self, *, since_start: bool) -> dict[str, Any]:
        """Return the samples of the last 15 minutes, or averages since the start, oldest first."""
        samples: Iterable[Sample] = ()
        if self.meter is not None:
            samples = self.meter.samples_since_start if since_start else self.meter.samples
        return {"now_s": time.time(), "samples": [sample.as_json() for sample in samples]}

    async def describe_activity(self) -> dict[str, Any]:
        """Return the programs that use most, the cells that ran, and advice about the GPUs."""
        cells = self._cell_runs.list_runs()
        if self.meter is None:
            return {"processes": [], "cells": cells, "advice": None}
        of: dict[int, int] = {}
        latest = self.meter.latest
        for gpu in (latest.gpus if latest else None) or ():
            for pid, mib in gpu.memory_mib_of.items():
                of[pid] = of.get(pid, 0) + mib
        notebooks = await notebooks_by_kernel(self._server.session_manager)
        shown = self.meter.activity.shown(of, notebooks, self._program_names())
        return {
            "processes": shown,
            "cells": cells,
            "advice": advise(self.meter.samples, self.meter.allotment),
        }

    async def give_back(self) -> None:
        """Ask the hub to end the session."""
        await self._hub.end()

    def _describe_now(self) -> dict[str, Any] | None:
        if self.meter is None or self.meter.latest is None:
            return None
        allotment = self.meter.allotment
        return {
            **self.meter.latest.as_json(),
            "n_cores": allotment.n_cores,
            "memory_limit_mib": allotment.memory_mib,
            "n_gpus": self.n_gpus,
            "are_gpus_simulated": self.has_simulated_gpus,
        }

    def _on_signal(self) -> None:
        self._log.info("Slurm warns that the time limit is near; open tabs save their notebooks")
        self.clock.on_signal()

    def _on_suspension(self) -> None:
        self._log.warning("Slurm suspends this session")
        self._is_suspended = True
        data = {"sentence": SUSPENDED}
        self._server.event_logger.emit(schema_id=SUSPENSION_EVENT, data=data)

    def _on_resumption(self) -> None:
        if self._is_suspended:
            self._log.warning("Slurm has resumed this session")
        self._is_suspended = False

    async def _sample(self, meter: Meter) -> None:
        sample = await meter.take_sample()
        self._total = self._total.plus(sample, meter.allotment)
        self._use_report.note(self._job_id, self._total.mean_gpu_percent)
        await self._evaluate(sample)

    async def _evaluate(self, sample: Sample) -> None:
        before = self._idle.view().state
        state = self._idle.look(
            Observation(
                now_s=time.monotonic(),
                gpu_percents=tuple(gpu.use_percent for gpu in sample.gpus or ()),
                is_kernel_busy=self._is_kernel_busy(),
                programs_percent=sample.programs_percent,
                input_s=self._input_s,
            )
        )
        if state is not before:
            self._log.info("The session counts as %s", state.value)
        if state is IdleState.OVER and not self._is_given_back:
            # Judged every few seconds, but ended once.
            self._is_given_back = True
            await self._end_idle_session()

    def _is_kernel_busy(self) -> bool:
        kernels = self._server.kernel_manager
        states = (
            getattr(kernels.get_kernel(k), "execution_state", "") for k in kernels.list_kernel_ids()
        )
        is_busy = any(state in {"busy", "starting", "restarting"} for state in states)
        return is_busy or self._is_working()

    async def _end_idle_session(self) -> None:
        self._log.warning("Nobody uses this session: it is stopped")
        try:
            await self._hub.end(is_idle=True)
        except HubError as error:
            self._log.warning("The hub does not end it, so the server does: %s", error)
            self._server.io_loop.add_callback(self._server.stop)


def _make_meter(environment: Mapping[str, str], interval_s: float) -> Meter | None:
    if interval_s <= 0:
        return None
    source = find_source(environment)
    allotment = find_allotment(environment, source)
    gpus, activity = Gpus(environment), ProcessReader(source.pids)
    return Meter(source, gpus, allotment, interval_s=interval_s, activity=activity)
