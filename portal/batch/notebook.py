"""Runs the notebook of a run to its end, on the first node of the run's job."""

import json
import logging
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

import papermill
from jupyter_client.kernelspec import NoSuchKernel
from nbclient.exceptions import DeadKernelError
from papermill.exceptions import PapermillException, PapermillExecutionError, strip_color
from traitlets.config import Config

from dsportal.amounts import format_wait
from dsportal.errors import LaunchError, printable
from dsportal.notebook.batch import JobToldToEnd, told_to_end
from dsportal.notebook.failure import explain_failure
from dsportal.rendezvous.network import this_node
from dsportal.task.folder import RunFolder
from dsportal.task.notebook import Beside, files_beside
from dsportal.task.plan import End, Failure, Plan
from portal.batch.cells import CellProgress, count_cells, last_output
from portal.batch.kernels import VARIABLE as JUPYTER_PATH
from portal.batch.kernels import forget_kernel, language_of, offer_kernels
from portal.environments.probe import probe_node
from portal.server.base.inherited_environment import prepare_inherited
from portal.server.base.private_dir import make_private_dir

# Frameworks on a busy network file system take minutes for their first import.
START_TIMEOUT_S = 300
_OF_OTHER_LANGUAGES = ("Translator for ", "Passed unknown parameter")
_N_NODES = "SLURM_JOB_NUM_NODES"


@dataclass(kw_only=True, eq=False)
class NotebookError(Exception):
    """Why a notebook did not run to its end.

    Attributes:
        number: Of the cell, from 1; 0 if none ran.
        error: What to say of it, in one line.
        traceback_text: The kernel's own traceback, or "".
    """

    number: int
    source: str
    error: str
    traceback_text: str = ""


def run_notebook(folder: RunFolder) -> int:
    """Run the notebook that the plan in `folder` names.

    Returns:
        Exit status for Slurm: 0 if all cells succeeded, 1 if one failed, 143 if it was ended.
    """
    signal.signal(signal.SIGTERM, told_to_end)
    # Slurm's warning before the time limit would end this process.
    signal.signal(signal.SIGUSR1, lambda number, frame: None)
    plan = folder.read_plan()
    beside = files_beside(Path(plan.executes), folder)
    began_s = time.monotonic()
    result: dict[str, Any] = {
        "notebook": str(beside.executed),
        "log": str(beside.log),
        "parameters": plan.parameters,
    }
    with beside.log.open("w", encoding="utf-8") as log:
        # Where all that shows runs looks for it.
        folder.log_path(0).unlink(missing_ok=True)
        folder.log_path(0).symlink_to(beside.log)
        try:
            with _private_dir() as private_dir:
                result["output"] = _execute(folder, plan, beside, private_dir, log)
            end = End(status=0)
        except JobToldToEnd:
            end = End(status=128 + signal.SIGTERM, was_stopped=True)
        except NotebookError as failure:
            end = _note_failure(folder, plan, failure, log)
            result["failed_cell"] = {
                "number": failure.number,
                "source": failure.source,
                "error": failure.error,
            }
    end = replace(end, seconds=time.monotonic() - began_s)
    if end.word == "done":
        folder.write_result(0, result)
        end = replace(end, progress=f"Done in {format_wait(end.seconds)}")
    values = {"state": end.word, "seconds": round(end.seconds, 1), **result}
    # A full disk must not hide how the notebook ended.
    with suppress(OSError):
        beside.result.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    # Last: who waits for the run then reads the other files.
    folder.write_end(end)
    return end.status


def _execute(folder: RunFolder, plan: Plan, beside: Beside, private_dir: Path, log: TextIO) -> str:
    """Run all cells; return the text of the last result."""
    n_nodes = os.environ.get(_N_NODES, "1")
    prepare_inherited(os.environ, Path(sys.prefix))
    if n_nodes != "1":
        # `run` in a cell has all nodes of the job.
        os.environ[_N_NODES] = n_nodes
    progress = None
    try:
        os.environ[JUPYTER_PATH] = offer_kernels(
            private_dir, os.environ, probe_node(os.environ, private_dir)
        )
        forget_kernel(os.environ)
        # What a program has written need not name the language.
        language = language_of(folder.notebook_copy)
        logging.getLogger("papermill").addHandler(_warnings_to(log, language))
        n_cells = count_cells(folder.notebook_copy, has_parameters=bool(plan.parameters))
        progress = CellProgress(folder, n_cells, log)
        executed = papermill.execute_notebook(
            folder.notebook_copy,
            beside.executed,
            plan.parameters,
            language=language,
            progress_bar=False,
            stdout_file=log,
            stderr_file=log,
            start_timeout=START_TIMEOUT_S,
            cwd=Path(plan.executes).parent,
            config=_on_sockets(private_dir),
            on_cell_start=progress.begin,
            on_cell_executed=progress.end,
        )
    except PapermillExecutionError as error:
        text = strip_color("\n".join(error.traceback))
        raise _failed(progress, f"{error.ename}: {error.evalue}", text) from error
    except DeadKernelError as error:
        said = "Its kernel ended, for example because the job's memory was used up."
        raise _failed(progress, said) from error
    except NoSuchKernel as error:
        said = f"This node has no kernel {error.name}. Choose another kernel for the notebook."
        raise _failed(progress, said) from error
    except (PapermillException, LaunchError, OSError, RuntimeError, ValueError) as error:
        raise _failed(progress, str(error)) from error
    return last_output(executed)


def _failed(progress: CellProgress | None, error: str, text: str = "") -> NotebookError:
    number, source = (0, "") if progress is None else (progress.number, progress.first_line)
    return NotebookError(
        number=number,
        source=source,
        # The first line of what may be a long text.
        error=printable(error.strip().partition("\n")[0]),
        traceback_text=printable(text),
    )


def _note_failure(folder: RunFolder, plan: Plan, failure: NotebookError, log: TextIO) -> End:
    cell = f"Cell {failure.number}, {failure.source!r}: " if failure.number else ""
    log.write(f"{failure.traceback_text}\n{cell}{failure.error}\n")
    folder.write_failure(
        Failure(
            rank=0,
            node=this_node(),
            time_s=time.time(),
            summary=f"{cell}{failure.error}",
            traceback_text=failure.traceback_text,
        )
    )
    end = End(status=1)
    return replace(end, reason=explain_failure(folder, end, plan.n_ranks).message)


def _on_sockets(private_dir: Path) -> Config:
    # As in sessions: on TCP every user of the node could read what a cell prints.
    connection = {"transport": "ipc", "connection_file": str(private_dir / "k.json")}
    return Config({"KernelManager": connection})


def _warnings_to(log: TextIO, language: str) -> logging.Handler:
    handler = logging.StreamHandler(log)
    handler.setLevel(logging.WARNING)
    if language != "python":
        # Papermill reads the names of a Python cell alone, and takes all others for unknown.
        handler.addFilter(lambda record: not record.getMessage().startswith(_OF_OTHER_LANGUAGES))
    return handler


@contextmanager
def _private_dir() -> Iterator[Path]:
    private_dir = make_private_dir()
    try:
        yield private_dir
    finally:
        shutil.rmtree(private_dir, ignore_errors=True)
