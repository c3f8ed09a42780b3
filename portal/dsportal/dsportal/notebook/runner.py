"""`run`: one call that runs a function of the notebook as one rank for each GPU."""

import inspect
import os
import sys
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, Literal

from dsportal.amounts import DEFAULT_HOURS, SECONDS_PER_HOUR, count
from dsportal.errors import LaunchError, hide_frames
from dsportal.launch import commands
from dsportal.launch.layout import Layout, fits_session, parse_layout
from dsportal.launch.mpi import check_mpi
from dsportal.launch.outside import read_image_start
from dsportal.launch.session import SessionAllocation, read_session
from dsportal.live_output import LiveOutput
from dsportal.notebook.handle import STOPPED, Run
from dsportal.notebook.notebook_job import run_notebook
from dsportal.notebook.own_job import batch_command, forget, name_place, submit_run
from dsportal.notebook.progress_bar import draw_end, draw_pace
from dsportal.notebook.resume import announce_resumed, copy_checkpoints, find_resumed
from dsportal.notebook.runs import runs_of_session
from dsportal.notebook.runs import show as show_text
from dsportal.notebook.supervise import supervise
from dsportal.task.call import Call, call_name, make_call
from dsportal.task.folder import RunFolder
from dsportal.task.folders import create_folder
from dsportal.task.notebook import is_notebook
from dsportal.task.plan import Plan


def run(
    train: Any,
    *args: Any,
    gpus: int | None = None,
    nodes: int = 1,
    results: Literal["first", "all"] = "first",
    show: Literal["first", "all"] = "first",
    wait: bool = True,
    resume: bool | str = False,
    hours: float | None = None,
    mpi: bool = False,
    mail: bool = False,
    **kwargs: Any,
) -> Any:
    """Run a function of the notebook as one rank for each GPU, and return what it returns.

    If the session has the GPUs, the ranks are a step of its own Slurm job. More GPUs, several
    nodes, hours or wait=False make a Slurm job of its own, which waits in the queue like a session
    and continues when the notebook is closed. What rank 0 prints appears in the cell line by line;
    every rank has a log in the folder of the run, under `~/portal-runs`. The interrupt button ends
    all ranks.

    The path of a notebook makes a job that runs it once, to its end, in its own kernel. Its
    `parameters={...}` fill the cell tagged "parameters". The executed notebook, its log and its
    result are beside the original.

    Args:
        train: A function, which may be defined in the notebook, or the path of a script or of a
            notebook.
        *args: Its arguments; for a script its command line.
        gpus: GPUs on all nodes together, and so ranks; None for as many a node as the session
            has. Simulated GPUs count.
        nodes: Nodes to use, 1 or more; each has the same number of ranks.
        results: "first" returns what rank 0 returned, "all" a list with one result for each rank.
        show: "first" shows what rank 0 prints, "all" the lines of every rank with its number.
        wait: False returns a `Run` at once; the run outlives the session.
        resume: True gives the function a copy of the checkpoints of its newest earlier run, a
            run's name or a part of it those of that run: see `dsportal.checkpoint`.
        hours: Time limit of a job of its own; None for the length of the session.
        mpi: True lets Horovod's ranks meet and average over MPI, started by `srun --mpi=pmix`,
            instead of over Gloo. Horovod has to be built with MPI.
        mail: True makes a job of its own, and has Slurm write you when it has ended, if your
            site's Slurm sends mail.
        **kwargs: Keyword arguments of the function; of a notebook, `parameters`.

    Returns:
        What the function returned on rank 0, or on every rank; None for a script; for a notebook
        its result as a dictionary. With wait=False the `Run`.

    Raises:
        SessionError: If this is no session, the numbers of GPUs and nodes do not fit together, or
            its partition, account or QOS never gives one job as much.
        RankError: If the function fails on a rank: with that rank's traceback, node and log.
        StepError: If Slurm refuses the job, does not start the ranks, or has no PMIx for MPI.
        LaunchError: If the function, its arguments or its result cannot be sent, or Horovod is
            built without MPI.
    """
    for name, value in (("results", results), ("show", show)):
        if value not in {"first", "all"}:
            raise LaunchError(f"You asked for {name}={value!r}. Choose 'first' or 'all'.")
    session = read_session(os.environ)
    shape = parse_layout(gpus, nodes, session.n_gpus)
    walltime_s = parse_hours(hours, session)
    if is_notebook(train):
        notebook = run_notebook(
            train, args, kwargs, shape=shape, session=session, walltime_s=walltime_s, mail=mail
        )
        return notebook.wait() if wait else notebook
    in_own_job = not wait or mail or hours is not None or not fits_session(shape, session)
    call = make_call(train, args, kwargs)
    check_arguments(call)
    # What can be refused is refused before the folder is created.
    resumed = find_resumed(resume, call_name(call))
    commands.check_srun()
    if mpi:
        check_mpi()
    returns_list = results == "all"
    plan = make_plan(
        session, shape, call, returns_list=returns_list, in_own_job=in_own_job, mpi=mpi
    )
    folder = create_folder(call_name(call), datetime.now())
    try:
        if resumed is not None:
            show_text(announce_resumed(resumed))
            plan = replace(plan, continues=resumed.id)
            copy_checkpoints(resumed, folder)
        folder.write_plan(plan)
        folder.write_call(call)
    # An interrupt of the copy, too.
    except BaseException:
        forget(folder)
        raise
    if in_own_job:
        started = _submit(folder, shape, session, walltime_s, mail=mail)
        return started.wait(show) if wait else started
    return _run_step(folder, plan, session, n_shown=plan.n_ranks if show == "all" else 1)


def check_arguments(call: Call) -> None:
    """Refuse arguments that the function does not take, before anything is started."""
    if call.function is None:
        return
    try:
        # Of a decorated function the decorator's own, which may pass on others.
        taken = inspect.signature(call.function, follow_wrapped=False)
    # Functions in C may not say.
    except (TypeError, ValueError):
        return
    try:
        taken.bind(*call.args, **call.kwargs)
    except TypeError as error:
        own = [name for name in inspect.signature(run).parameters if name not in call.kwargs]
        meant = [near for name in call.kwargs for near in get_close_matches(name, own)[:1]]
        hint = f" run() takes {' and '.join(meant)}." if meant else ""
        raise LaunchError(f"{call_name(call)}() cannot be called: {error}.{hint}") from error


def make_plan(
    session: SessionAllocation,
    shape: Layout,
    call: Call,
    *,
    returns_list: bool = False,
    in_own_job: bool = True,
    mpi: bool = False,
) -> Plan:
    """Return what the ranks of a call must know."""
    image = read_image_start(os.environ)
    # Set by jupyter_server; of a console it is no path of a notebook.
    notebook = os.environ.get("JPY_SESSION_NAME", "")
    cores = session.cores_per_gpu or 1
    # Ranks of a step share the session's cores; those of a job get as many per GPU as the session.
    usable = session.n_usable_cores // shape.ranks_per_node
    n_results = shape.n_ranks if returns_list else 1
    return Plan(
        n_ranks=shape.n_ranks,
        cores_per_rank=max(1, cores if in_own_job else usable),
        simulated_gpus=session.simulated_gpus,
        working_dir=str(Path.cwd()),
        module_paths=tuple(sys.path),
        n_results=0 if call.script is not None else n_results,
        n_nodes=shape.n_nodes,
        cores_per_node=cores * shape.ranks_per_node if in_own_job else session.n_cores,
        in_own_job=in_own_job,
        notebook=notebook if notebook.endswith(".ipynb") else "",
        returns_list=returns_list,
        mpi=mpi,
        rank_start=() if image is None else image.rank,
    )


def parse_hours(hours: object, session: SessionAllocation) -> int:
    """Return the time limit in seconds that `hours` means, None as the length of the session."""
    if hours is None:
        return session.walltime_s or DEFAULT_HOURS * SECONDS_PER_HOUR
    # True and False are ints in Python.
    if not isinstance(hours, (int, float)) or isinstance(hours, bool) or not 1 / 60 <= hours < 9000:
        raise LaunchError(f"You asked for hours={hours!r}. Give a number, such as 8 or 0.5.")
    return round(hours * SECONDS_PER_HOUR)


def _submit(
    folder: RunFolder, shape: Layout, session: SessionAllocation, walltime_s: int, *, mail: bool
) -> Run:
    command = batch_command(folder.path)
    started = submit_run(folder, shape, session, walltime_s, command, mail=mail)
    plan, nodes = folder.read_plan(), count(shape.n_nodes, "node")
    _announce(folder, plan, f"{nodes} as job {started.job_id}", n_cores=session.cores_per_gpu)
    return started


def _run_step(folder: RunFolder, plan: Plan, session: SessionAllocation, *, n_shown: int) -> Any:
    place = session.node if plan.n_nodes == 1 else f"{plan.n_nodes} nodes"
    _announce(folder, plan, place, n_cores=plan.cores_per_rank)
    _warn_of_others(session.job_id, folder.name)
    bar = LiveOutput(show_text)
    try:
        end = supervise(
            folder,
            plan,
            job_id=session.job_id,
            shown=range(n_shown),
            show=show_text,
            on_pace=partial(draw_pace, bar),
        )
    except BaseException as error:
        show_text(STOPPED)
        hide_frames(error)
        raise
    draw_end(bar, folder.read_throughput(), end)
    return Run(folder, None, show_text).result()


def _warn_of_others(job_id: int, name: str) -> None:
    # A warning must not keep a training from starting, whatever is in the folder of runs.
    with suppress(OSError, ValueError, KeyError, TypeError):
        others = ", ".join(other.id for other in runs_of_session(job_id, but=name))
        if others:
            show_text(
                f"Still running on the same GPUs: {others}. Runs that share GPUs are slower and "
                "may run out of GPU memory. Interrupt the cell of one, or start this one as a job "
                "of its own with wait=False.\n"
            )


def _announce(folder: RunFolder, plan: Plan, place: str, *, n_cores: int) -> None:
    each = "each " if plan.n_ranks > 1 else ""
    gpu = "a simulated GPU" if plan.simulated_gpus else "a GPU"
    cores = f" and {count(n_cores, 'core')}" if n_cores else ""
    ranks = f"{count(plan.n_ranks, 'rank')} on {place}, {each}with {gpu}{cores}"
    show_text(f"{ranks}. Logs: {name_place(folder)}\n")
