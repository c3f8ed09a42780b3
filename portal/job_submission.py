"""Queues the job of a notebook; says before when it would start, and which limits refuse it."""

import asyncio
import os
import pwd
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from dsportal.amounts import count, format_duration
from dsportal.errors import LaunchError, printable
from dsportal.launch import commands
from dsportal.launch.sbatch import JobRequest
from dsportal.launch.session import SessionAllocation
from dsportal.notebook.notebook_job import run_notebook
from dsportal.notebook.sweep import start_sweep
from dsportal.notebook.sweep_handle import Sweep
from dsportal.slurm.again import Again
from dsportal.slurm.errors import PortalError
from dsportal.task.folders import parent_folder
from portal.hub.form.start_times import describe_free, describe_start
from spawner.client.accounting import Accounting
from spawner.client.budgets import read_budgets
from spawner.client.command import Completed, query
from spawner.forecast.forecaster import Forecast, parse_test_only
from spawner.options.budget_messages import ChargedBudgets
from spawner.slurm.associations import AssociationLimits
from spawner.slurm.catalog import SINFO_ARGV, Catalog
from spawner.slurm.resources import Resources

TIMEOUT_S = 15


class SubmissionError(PortalError):
    """Slurm refuses such a job, or would never start it."""


def submit_notebook(
    notebook: Path,
    request: JobRequest,
    parameters: Mapping[str, Any],
    *,
    command: str,
    simulated_gpus: bool,
) -> None:
    """Queue a job that runs a notebook once, as it is now, and say so.

    Args:
        notebook: Its path.
        request: What the job asks for.
        parameters: For its cell tagged "parameters".
        command: Path of the command dsportal on nodes.
        simulated_gpus: Whether the site only counts GPUs.
    """
    place = _place(request, simulated_gpus=simulated_gpus)
    with _in_words():
        run_notebook(
            notebook,
            (),
            {"parameters": parameters},
            shape=request.shape,
            session=place,
            walltime_s=request.walltime_s,
            command=command,
            begin=request.begin,
            mail=request.mail_to is not None,
        )


def submit_sweep(
    program: Path,
    request: JobRequest,
    grid: Mapping[str, Sequence[Any]],
    *,
    command: Sequence[str],
    simulated_gpus: bool,
    **order: Any,
) -> Sweep:
    """Queue an array that runs a notebook or a script for each point of a grid, and say so.

    Args:
        program: Path of the notebook or the script.
        request: What the job of a point asks for.
        grid: Values by parameter.
        command: As for `start_sweep`.
        simulated_gpus: As for `submit_notebook`.
        order: As for `start_sweep`.
    """
    with _in_words():
        return start_sweep(
            program,
            grid,
            session=_place(request, simulated_gpus=simulated_gpus),
            shape=request.shape,
            walltime_s=request.walltime_s,
            command=command,
            mail=request.mail_to is not None,
            **order,
        )


def _place(request: JobRequest, *, simulated_gpus: bool) -> SessionAllocation:
    # One GPU with what comes with it at this site.
    return SessionAllocation(
        job_id=0,
        node="",
        n_gpus=1,
        n_cores=request.cores_per_gpu,
        n_usable_cores=request.cores_per_gpu,
        simulated_gpus=simulated_gpus,
        memory_mib=request.memory_mib_per_gpu,
        partition=request.partition,
        account=request.account,
        qos=request.qos,
    )


def submit_script(file: Path, request: JobRequest, script: str, again: Again | None) -> str:
    """Queue a job file, the first of several if its notebook runs `again`; return that in words."""
    with _in_words():
        if again is not None:
            log_of(again).parent.mkdir(mode=0o700, exist_ok=True)
        job_id = commands.submit(request, (), script=script)
    first = request.begin.replace("T", " ")[:16]
    if again is None:
        output = Path.cwd() / f"{request.name}-{job_id}.out"
        begin = f" from {first} on" if first else ""
        return printable(f"{file.name} is queued as job {job_id}{begin}. Its output: {output}")
    return (
        f"{file.name} runs {again.words}, {f'first {first}' if first else 'first now'}, as job "
        f"{job_id}. Each run queues the next. To end that, cancel the one that waits."
    )


def log_of(again: Again) -> Path:
    """Return where the jobs of a notebook that runs again and again print."""
    return parent_folder() / f"again-{again.series}.log"


@contextmanager
def _in_words() -> Iterator[None]:
    try:
        yield
    except LaunchError as error:
        raise SubmissionError(str(error)) from error


def forecast(request: JobRequest) -> str:
    """Return when a job would start and what is free now, as sentences."""
    # As sbatch prints its times: those of this node, without a zone.
    now = datetime.now()
    with _in_words():
        answer = parse_test_only(commands.try_submit(request), now)
    start = describe_start(Forecast(answer=answer, made_at=now), now, is_free=False)
    return " ".join(filter(None, (f"Slurm's forecast: {start.words}.", _free(request.partition))))


def check_limits(request: JobRequest) -> None:
    """Refuse what would wait for ever; without an answer nothing is refused."""
    for refuses in asyncio.run(_read_limits(request)):
        if isinstance(refuses, ChargedBudgets):
            refusal = explain_budget(request, refuses)
        else:
            refusal = explain_ceiling(request, refuses)
        if refusal:
            raise SubmissionError(refusal)


async def _read_limits(request: JobRequest) -> list[AssociationLimits | ChargedBudgets]:
    # At once: each command takes a part of a second.
    found = await asyncio.gather(
        _read_ceiling(request),
        _read_longest(request.partition),
        _read_charged(request),
        return_exceptions=True,
    )
    unexpected = (one for one in found if isinstance(one, BaseException))
    for error in unexpected:
        if not isinstance(error, PortalError):
            raise error
    return [one for one in found if not isinstance(one, BaseException)]


def explain_ceiling(request: JobRequest, ceiling: AssociationLimits) -> str:
    """Return why a job is larger than the most that its account and QOS give; "" if it is not."""
    n_gpus = request.shape.n_ranks
    if ceiling.max_gpus is not None and n_gpus > ceiling.max_gpus:
        return (
            f"You asked for {count(n_gpus, 'GPU')}; {ceiling.of} gives one job at most "
            f"{ceiling.max_gpus}. Ask for fewer."
        )
    if ceiling.max_walltime_s is not None and request.walltime_s > ceiling.max_walltime_s:
        return (
            f"You asked for {format_duration(request.walltime_s)}; {ceiling.of} gives one job at "
            f"most {format_duration(ceiling.max_walltime_s)}. Ask for less time."
        )
    return ""


def explain_budget(request: JobRequest, charged: ChargedBudgets) -> str:
    """Return why too little is left for a job; "" if there is enough."""
    n_gpus = request.shape.n_ranks
    size = Resources(
        n_gpus=n_gpus,
        n_cores=n_gpus * request.cores_per_gpu,
        memory_mib=n_gpus * request.memory_mib_per_gpu,
    )
    refusal = charged.why_not(size, None, request.walltime_s)
    asked = f"{count(n_gpus, 'GPU')} for {format_duration(request.walltime_s)}"
    return refusal and f"You asked for {asked}. {refusal}"


async def _read_ceiling(request: JobRequest) -> AssociationLimits:
    associations = await Accounting(_ask).read_associations()
    return associations.ceiling(
        _user(),
        account=request.account or None,
        partition=request.partition or None,
        qos=request.qos or None,
    )


async def _read_charged(request: JobRequest) -> ChargedBudgets:
    return ChargedBudgets.of_job(
        await read_budgets(_ask),
        user=_user(),
        account=request.account,
        partition=request.partition,
        qos=request.qos,
    )


def _user() -> str:
    return pwd.getpwuid(os.getuid()).pw_name


async def _ask(argv: Sequence[str]) -> Completed:
    return await query(argv, timeout_s=TIMEOUT_S)


async def _read_longest(partition: str) -> AssociationLimits:
    most_s = (await _read_catalog()).max_walltime_s(partition or None)
    return AssociationLimits(max_walltime_s=most_s, of="the partition")


def _free(partition: str) -> str:
    with suppress(PortalError):
        catalog = asyncio.run(_read_catalog())
        return describe_free(catalog.count_gpus(partition or None), "the job")
    return ""


async def _read_catalog() -> Catalog:
    return Catalog.parse((await _ask(SINFO_ARGV)).stdout)
