"""One rank of a run: `python -m dsportal.worker.rank RUN_FOLDER`, started by srun.

Reads the plan, sets the environment for its place, runs the user's function and records what it
returned or how it failed. No framework is imported before the environment is set.
"""

import atexit
import builtins
import os
import runpy
import signal
import sys
import threading
import time
import traceback
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import NoReturn

from dsportal.checkpoint import CHECKPOINT_VARIABLE, SAVED_VARIABLE, watch_for_warning
from dsportal.errors import LaunchError, StepError, printable
from dsportal.rendezvous.client import StoreClient
from dsportal.rendezvous.import_hooks import check_size, install_guards
from dsportal.rendezvous.network import address_towards, find_interface
from dsportal.task import call, cell
from dsportal.task.environment import RENDEZVOUS_VARIABLE, rank_environment
from dsportal.task.folder import RunFolder
from dsportal.task.gpus import name_mig
from dsportal.task.mlflow_tags import name_run
from dsportal.task.placement import Placement, read_placement
from dsportal.task.plan import Failure, Plan
from dsportal.worker import progress
from dsportal.worker.node_checks import check_nodes


def main(argv: list[str]) -> int:
    """Run one rank.

    Returns:
        Exit status: 1 if the node lacks the run's folder. Else this does not return: the process
        ends with 0, or with 1 if the function failed.
    """
    folder = RunFolder(Path(argv[1]))
    placement = read_placement(os.environ)
    if not folder.path.is_dir():
        print(
            f"Node {placement.node} does not see {folder.path}. Tell the administrators: the home "
            "folders have to be the same on all nodes.",
            flush=True,
        )
        return 1
    try:
        plan = folder.read_plan()
        reporter = _prepare(folder, plan, placement)
        result = folder.read_call().run()
        reporter.finish()
        progress.finish_logging()
        # A run that ends to be resumed has no result yet.
        if placement.rank < plan.n_results and not folder.saved_mark.exists():
            folder.write_result(placement.rank, result)
    except BaseException as error:
        # A script may end by sys.exit(): that is no failure.
        if not (isinstance(error, SystemExit) and error.code in {None, 0}):
            folder.write_failure(_failure(error, placement))
            # Not sys.exit: Horovod would wait for ranks that wait for this one.
            os._exit(1)
    _run_exit_handlers()
    os._exit(0)


def _run_exit_handlers() -> None:
    """Do what runs at exit, so that the process can end before Python takes itself apart.

    Threads of PyTorch and Horovod would live on then. One that calls into Python, or that is not
    joined, ends in the middle of C++, which now and then aborts a rank that has done its work
    ("terminate called without an active exception").

    Source:
        https://docs.python.org/3.11/c-api/init.html, PyEval_RestoreThread.
    """
    # As multiprocessing ends its processes: it also wakes the idle workers of pools.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        # A reader that is gone is no fault of the function.
        with suppress(OSError, ValueError):
            stream.flush()


def _prepare(folder: RunFolder, plan: Plan, placement: Placement) -> progress.Reporter:
    check_size(placement.size, plan.n_ranks)
    address, _, port = os.environ.pop(RENDEZVOUS_VARIABLE, "").rpartition(" ")
    if not address:
        raise StepError("This rank was not told where its run is. Use dsportal.run.")
    host = address.partition(":")[0]
    own_address = address_towards(host)
    os.environ.update(
        rank_environment(
            placement,
            name_mig(os.environ),
            n_threads=_n_threads(plan, placement),
            simulated_gpus=plan.simulated_gpus,
            rendezvous=(address, int(port)),
            interface=find_interface(own_address),
            one_gpu_each=find_spec("torch") is None,
            mpi=plan.mpi,
        )
    )
    os.environ[CHECKPOINT_VARIABLE] = str(folder.checkpoints)
    os.environ[SAVED_VARIABLE] = str(folder.saved_mark)
    if plan.log_dir:
        os.environ["PORTAL_LOG_DIR"] = plan.log_dir
    watch_for_warning()
    builtins.input = _no_keyboard
    # One rank for each node is enough, and a single node needs no network.
    if placement.local_rank == 0 and placement.cross_size > 1:
        client = StoreClient(address, "node_checks")
        check_nodes(client, placement, own_address, find_interface(own_address))
    _enter(plan.working_dir, placement.node)
    # As `python SCRIPT` has it, with the script's folder in front.
    sys.path[:] = plan.module_paths or (plan.working_dir, *sys.path[1:])
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    install_guards(
        plan.n_ranks,
        placement.rank,
        address,
        plan.n_nodes,
        mpi=plan.mpi,
        simulated_gpus=plan.simulated_gpus,
    )
    name_run(os.environ, folder.full_name, placement.rank)
    link = folder.mlflow_link if placement.rank == 0 else None
    return progress.begin(address, placement.rank, link)


def _no_keyboard(prompt: object = "") -> NoReturn:
    raise LaunchError(
        "Ranks have no keyboard, so input() cannot ask. Ask in the notebook, and give the answer "
        "to the function as an argument."
    )


def _enter(folder: str, node: str) -> None:
    try:
        os.chdir(folder)
    except OSError as error:
        raise StepError(
            f"Node {node} does not see the notebook's folder {folder} ({error.strerror}). Move the "
            "notebook to a folder that all nodes share, such as your home folder."
        ) from error


def _n_threads(plan: Plan, placement: Placement) -> int:
    # Slurm may be configured with more cores than the node has.
    n_usable = len(os.sched_getaffinity(0))
    return max(1, min(plan.cores_per_rank, n_usable // placement.local_size))


def _failure(error: BaseException, placement: Placement) -> Failure:
    is_ours = isinstance(error, LaunchError)
    lines = printable("".join(traceback.format_exception_only(error)).strip())
    return Failure(
        rank=placement.rank,
        node=placement.node,
        time_s=time.time(),
        summary=f"{type(error).__name__}: {error}"
        if is_ours
        else printable("".join(lines).strip()),
        traceback_text="" if is_ours else printable(_traceback_from_function(error)),
    )


def _traceback_from_function(error: BaseException) -> str:
    """Return the traceback of an error without the frames of this package."""
    frames: TracebackType | None = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename in {
        __file__,
        call.__file__,
        cell.__file__,
        runpy.__file__,
        "<frozen runpy>",
    }:
        frames = frames.tb_next
    return "".join(traceback.format_exception(type(error), error, frames or error.__traceback__))


if __name__ == "__main__":
    sys.exit(main(sys.argv))
