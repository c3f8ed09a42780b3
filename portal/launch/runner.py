"""One call that runs a function of the notebook as one rank for each GPU of the session."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from portal.launch.call import call_name, make_call
from portal.launch.environment import RENDEZVOUS_VARIABLE
from portal.launch.errors import LaunchError
from portal.launch.failure import explain_failure
from portal.launch.folder import Plan, RunFolder, create_folder
from portal.launch.output import RankOutput
from portal.launch.session import Session, read_session
from portal.launch.step import Step, step_argv
from portal.launch.store import Store


def run(
    train: Any,
    *args: Any,
    gpus: int | None = None,
    nodes: int = 1,
    results: Literal["first", "all"] = "first",
    show: Literal["first", "all"] = "first",
    **kwargs: Any,
) -> Any:
    """Run a function of the notebook as one rank for each GPU, and return what it returns.

    The ranks are a step of the session's own Slurm job, started by srun. What rank 0 prints comes
    into the cell line by line; every rank has a log in the folder of the run, under
    `~/portal-runs`. The interrupt button ends all ranks.

    Args:
        train: A function, which may be defined in the notebook, or the path of a script.
        *args: Its arguments; for a script its command line.
        gpus: GPUs to use, and so ranks; None for all of the session. Simulated GPUs count.
        nodes: Nodes to use: 1.
        results: "first" returns what rank 0 returned, "all" a list with one result for each rank.
        show: "first" shows what rank 0 prints, "all" the lines of every rank with its number.
        **kwargs: Arguments of the function by name.

    Returns:
        What the function returned on rank 0, or on every rank; None for a script.

    Raises:
        SessionError: If this is no session, or it has not so many GPUs.
        RankError: If the function fails on a rank: with that rank's traceback, node and log.
        StepError: If Slurm does not start the ranks.
        LaunchError: If the function, its arguments or its result cannot be sent.
    """
    for name, value in (("results", results), ("show", show)):
        if value not in {"first", "all"}:
            raise LaunchError(f"You asked for {name}={value!r}; choose 'first' or 'all'.")
    session = read_session(os.environ)
    n_ranks = session.check_ranks(gpus, nodes)
    call = make_call(train, args, kwargs)
    folder = create_folder(call_name(call), datetime.now())
    n_results = n_ranks if results == "all" else 1
    plan = _plan(session, n_ranks, n_results)
    folder.write_plan(plan)
    folder.write_call(call)
    print(_opening(session, plan, folder), flush=True)
    _run_step(session, plan, folder, shown=range(n_ranks if show == "all" else 1))
    if call.script is not None:
        return None
    values = [folder.read_result(rank) for rank in range(n_results)]
    return values if results == "all" else values[0]


def _plan(session: Session, n_ranks: int, n_results: int) -> Plan:
    return Plan(
        n_ranks=n_ranks,
        cores_per_rank=max(1, session.n_usable_cores // n_ranks),
        simulated_gpus=session.simulated_gpus,
        working_dir=str(Path.cwd()),
        module_paths=tuple(sys.path),
        n_results=n_results,
    )


def _opening(session: Session, plan: Plan, folder: RunFolder) -> str:
    ranks = "1 rank" if plan.n_ranks == 1 else f"{plan.n_ranks} ranks"
    cores = "1 core" if plan.cores_per_rank == 1 else f"{plan.cores_per_rank} cores"
    gpu = "a simulated GPU" if plan.simulated_gpus else "a GPU"
    logs = str(folder.path).replace(str(Path.home()), "~", 1)
    return f"{ranks} on {session.node}, each with {gpu} and {cores}. Logs: {logs}"


def _run_step(session: Session, plan: Plan, folder: RunFolder, shown: Sequence[int]) -> None:
    log_paths = [folder.log_path(rank) for rank in range(plan.n_ranks)]
    name = folder.path.name
    command = [sys.executable, "-m", "portal.launch.rank", str(folder.path)]
    argv = step_argv(
        session,
        n_ranks=plan.n_ranks,
        name=name,
        working_dir=folder.path,
        command=command,
    )
    with Store() as store, RankOutput(log_paths, shown, _show) as output:
        address, port = store.horovod_address
        environ = {**os.environ, RENDEZVOUS_VARIABLE: f"{address} {port}"}
        step = Step(argv, environ, name)
        try:
            for line in step.lines():
                output.feed(line)
            status = step.wait()
        except BaseException:
            for line in step.stop().splitlines(keepends=True):
                output.feed(line)
            _show("Stopped: all ranks have been ended.\n")
            raise
    if status != 0:
        raise explain_failure(
            folder, n_ranks=plan.n_ranks, status=status, slurm_lines=output.slurm_lines
        )


def _show(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
