"""Reads the folder of a run; `dsportal.task.folder` says what is in it."""

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from dsportal.task.folder import RunFolder
from dsportal.task.plan import End
from dsportal.task.throughput import Throughput

_Read = TypeVar("_Read")

# Date and time of the start, the name of the function or script, and four random characters.
NAME = re.compile(r"[0-9]{8}-[0-9]{6}-([a-z0-9_-]{1,30})-[a-z0-9]{4}", re.ASCII)
MOST_LABEL_CHARACTERS = 80
_LABEL_FILE = "label.txt"
_MOST_FILE_BYTES = 1024 * 1024
_MOST_WORDS = 400
_MLFLOW_ID = re.compile(r"[0-9a-z]{1,64}", re.ASCII)
_EVENTS = "events.out.tfevents."


@dataclass(frozen=True, slots=True, kw_only=True)
class MlflowRun:
    """The run of MLflow that rank 0 logs to.

    Attributes:
        folder: Absolute path of the folder of runs.
    """

    folder: str
    experiment_id: str
    run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """What the folder of a run says.

    Attributes:
        label: What the user calls it, or "".
        job_id: Its own Slurm job, or "" if it belongs to a session.
        end: "done", "failed", "stopped" or "saved"; "" if it has not ended as far as is known.
        words: Its result, or why it failed; "" before.
        seconds: How long its ranks ran; 0 before their end.
        done: What they reported, if they have done their work, such as "Done, 8 steps in 31 s".
        progress: How far its ranks are, or None if they have reported nothing.
        progress_at_s: When that was written, in seconds since 1970; 0 for never.
        mlflow: Its run of MLflow, or None if it has none in a folder.
        notebook: Path below the home of the notebook that started it, or "".
        continues: Name of the run that it continues, or "".
        executes: Whether its job runs a notebook in place of ranks.
        cluster: Slurm's name of its cluster, if that is another one than this session's; else "".
    """

    name: str
    function: str
    label: str
    started_s: float
    n_gpus: int
    n_nodes: int
    job_id: str
    end: str
    words: str
    seconds: float
    done: str
    progress: Throughput | None
    progress_at_s: float
    mlflow: MlflowRun | None
    notebook: str
    continues: str
    executes: bool
    cluster: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderSize:
    """What is in a folder, its folders included.

    Attributes:
        n_bytes: Room on the disk.
        has_events: Whether TensorBoard would find something.
    """

    n_bytes: int
    has_events: bool


def read_record(folder: Path) -> RunRecord | None:
    """Return what a folder says, or None if it is no run's."""
    match = NAME.fullmatch(folder.name)
    run = RunFolder(folder)
    plan = _if_whole(run.read_plan)
    if match is None or plan is None:
        return None
    end, progress = _if_whole(run.read_end), _if_whole(run.read_throughput)
    return RunRecord(
        name=folder.name,
        function=match[1],
        label=_read_text(folder / _LABEL_FILE)[:MOST_LABEL_CHARACTERS],
        started_s=(folder / "run.json").stat().st_mtime,
        n_gpus=plan.n_ranks,
        n_nodes=plan.n_nodes,
        job_id=str(_if_whole(run.read_job_id) or ""),
        end="" if end is None else end.word,
        words="" if end is None else _end_words(folder, end),
        seconds=0.0 if end is None else end.seconds,
        done="" if end is None else end.progress,
        progress=progress,
        progress_at_s=0.0 if progress is None else (folder / "progress.json").stat().st_mtime,
        mlflow=_read_mlflow(run.mlflow_link),
        notebook=_below_home(plan.notebook, folder.parent.parent),
        continues=plan.continues,
        executes=bool(plan.executes),
        cluster=run.elsewhere,
    )


def write_label(folder: Path, label: str) -> None:
    """Keep what the user calls a run; "" removes it."""
    path = folder / _LABEL_FILE
    if label:
        path.write_text(label, encoding="utf-8")
    else:
        path.unlink(missing_ok=True)


def measure_folder(folder: Path) -> FolderSize:
    """Return what a folder holds; what cannot be read, or is just being removed, counts nothing."""
    n_bytes, has_events = 0, False
    for parent, _, names in os.walk(folder):
        for name in names:
            has_events = has_events or name.startswith(_EVENTS)
            try:
                # A file with holes takes less room than it is long.
                n_bytes += os.lstat(os.path.join(parent, name)).st_blocks * 512
            except OSError:
                continue
    return FolderSize(n_bytes=n_bytes, has_events=has_events)


def _if_whole(read: Callable[[], _Read | None]) -> _Read | None:
    # What another program has left there is no reason to hide the rest of the run.
    try:
        return read()
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def _end_words(folder: Path, end: End) -> str:
    text = _read_text(folder / "rank-0.result.txt") if end.word == "done" else end.reason
    return text if len(text) <= _MOST_WORDS else text[:_MOST_WORDS] + " …"


def _read_mlflow(path: Path) -> MlflowRun | None:
    values = _if_whole(lambda: dict(json.loads(_read_text(path)))) or {}
    address = urlsplit(str(values.get("tracking_uri", "")))
    ids = [str(values.get(name, "")) for name in ("experiment_id", "run_id")]
    # They become part of an address.
    if address.scheme != "file" or not all(_MLFLOW_ID.fullmatch(one) for one in ids):
        return None
    return MlflowRun(folder=unquote(address.path), experiment_id=ids[0], run_id=ids[1])


def _below_home(path: str, home: Path) -> str:
    return str(Path(path).relative_to(home)) if path and Path(path).is_relative_to(home) else ""


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_FILE_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
