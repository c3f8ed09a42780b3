"""Reads the folder of a run; `dsportal.task.folder` says what is in it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

# Date and time of the start, the name of the function or script, and four random characters.
NAME = re.compile(r"[0-9]{8}-[0-9]{6}-([a-z0-9_-]{1,30})-[a-z0-9]{4}", re.ASCII)
MOST_LABEL_CHARACTERS = 80
_LABEL_FILE = "label.txt"
_MOST_FILE_BYTES = 1024 * 1024
_MOST_WORDS = 400
_MLFLOW_ID = re.compile(r"[0-9a-z]{1,64}", re.ASCII)
_EVENTS = "events.out.tfevents."


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgress:
    """How far the furthest rank is.

    Attributes:
        step: Steps that it has done.
        n_steps: Steps of the whole training; 0 if not known.
        images_per_s: Images of all ranks in a second; 0 if none are counted.
        loss: The loss that was reported last, or None.
        at_s: When this was written, in seconds since 1970.
    """

    step: int
    n_steps: int
    images_per_s: float
    loss: float | None
    at_s: float


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
        name: Name of the folder.
        function: Name of the function or script.
        label: What the user calls it, or "".
        started_s: When it started, in seconds since 1970.
        job_id: Its own Slurm job, or "" if it belongs to a session.
        end: "done", "failed", "stopped" or "saved"; "" if it has not ended as far as is known.
        words: Its result, or why it failed; "" before.
        seconds: How long its ranks ran; 0 before their end.
        done: What they reported, if they have done their work, such as "Done, 8 steps in 31 s".
        mlflow: Its run of MLflow, or None if it has none in a folder.
        notebook: Path below the home of the notebook that started it, or "".
        continues: Name of the run that it continues, or "".
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
    progress: RunProgress | None
    mlflow: MlflowRun | None
    notebook: str
    continues: str


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
    """Return what a folder says, or None if it is no run's.

    Raises:
        OSError: If it cannot be read.
    """
    match = NAME.fullmatch(folder.name)
    plan = _read_json(folder / "run.json")
    if match is None or plan is None:
        return None
    end = _read_json(folder / "end.json")
    return RunRecord(
        name=folder.name,
        function=match[1],
        label=_read_text(folder / _LABEL_FILE)[:MOST_LABEL_CHARACTERS],
        started_s=(folder / "run.json").stat().st_mtime,
        n_gpus=_number(plan.get("n_ranks")),
        n_nodes=_number(plan.get("n_nodes")),
        job_id=str((_read_json(folder / "job.json") or {}).get("job_id", "")),
        end="" if end is None else _end_word(end),
        words="" if end is None else _end_words(folder, end),
        seconds=0.0 if end is None else float(end.get("seconds") or 0),
        done="" if end is None else str(end.get("progress") or ""),
        progress=_read_progress(folder / "progress.json"),
        mlflow=_read_mlflow(folder / "mlflow.json"),
        notebook=_below_home(str(plan.get("notebook", "")), folder.parent.parent),
        continues=str(plan.get("continues", "")),
    )


def write_label(folder: Path, label: str) -> None:
    """Keep what the user calls a run; "" removes it.

    Raises:
        OSError: If it cannot be written.
    """
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


def _end_word(end: Mapping[str, Any]) -> str:
    if end.get("is_saved"):
        return "saved"
    if end.get("was_stopped"):
        return "stopped"
    return "failed" if end.get("status") else "done"


def _end_words(folder: Path, end: Mapping[str, Any]) -> str:
    word = _end_word(end)
    if word == "done":
        text = _read_text(folder / "rank-0.result.txt")
    else:
        text = str(end.get("reason") or "")
    return text if len(text) <= _MOST_WORDS else text[:_MOST_WORDS] + " …"


def _read_progress(path: Path) -> RunProgress | None:
    values = _read_json(path)
    if values is None:
        return None
    loss = values.get("loss")
    return RunProgress(
        step=_number(values.get("step")),
        n_steps=_number(values.get("n_steps")),
        images_per_s=float(values.get("images_per_s") or 0),
        loss=float(loss) if isinstance(loss, (int, float)) else None,
        at_s=path.stat().st_mtime,
    )


def _read_mlflow(path: Path) -> MlflowRun | None:
    values = _read_json(path) or {}
    address = urlsplit(str(values.get("tracking_uri", "")))
    ids = [str(values.get(name, "")) for name in ("experiment_id", "run_id")]
    # They become part of an address.
    if address.scheme != "file" or not all(_MLFLOW_ID.fullmatch(one) for one in ids):
        return None
    return MlflowRun(folder=unquote(address.path), experiment_id=ids[0], run_id=ids[1])


def _below_home(path: str, home: Path) -> str:
    return str(Path(path).relative_to(home)) if path and Path(path).is_relative_to(home) else ""


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _read_json(path: Path) -> dict[str, Any] | None:
    text = _read_text(path)
    try:
        values = json.loads(text)
    except ValueError:
        return None
    return values if isinstance(values, dict) else None


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_FILE_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
