"""What runs in a session or was started from it: jobs, their output, and the GPUs of kernels."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import quote

from dsportal.amounts import count

from .host import LaptopError
from .sessions import Session

_LOOK_S = 5.0
_COLUMNS = 4


class Work(Protocol):
    """Where jobs and runs are asked for: a session from afar, or the session itself."""

    def list_work(self) -> dict[str, Any]:
        """Return `rows`, each with its `job` and its `run`, `problem` and `missing`."""

    def read_output(self, job: str, run: str, offset: int) -> dict[str, Any]:
        """Return `text` and `next_offset` of a run or, without one, a job.

        A negative `offset` means the end, any other one the bytes from there on.
        """


class RemoteWork:
    """The jobs of a session that is asked by REST."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def list_work(self) -> dict[str, Any]:
        """Return what the session lists."""
        told: dict[str, Any] = self.session.ask("GET", "portal/api/jobs")
        return told

    def read_output(self, job: str, run: str, offset: int) -> dict[str, Any]:
        """Return a piece of it, from byte `offset` on, or the end for a negative one."""
        what = f"runs/{quote(run, safe='')}" if run else f"jobs/{quote(job, safe='')}"
        told: dict[str, Any] = self.session.ask(
            "GET", f"portal/api/{what}/output" + (f"?offset={offset}" if offset >= 0 else "")
        )
        return told


def describe_work(told: Mapping[str, Any]) -> str:
    """Return a line for each job and run that is `told`, and in words why jobs are missing."""
    rows = [_cells(row) for row in told["rows"]]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:_COLUMNS]
    lines = [
        "  ".join([*map(str.ljust, row, widths), *filter(None, row[_COLUMNS:])]) for row in rows
    ]
    # A session of an earlier version knows its own cluster alone.
    known = filter(None, [told["problem"], told.get("missing")])
    return "\n".join([*known, *lines]) or "You have no jobs and no runs."


def _cells(row: Mapping[str, Any]) -> list[str]:
    job, run = row["job"] or {}, row["run"] or {}
    n_gpus = job["n_gpus"] if job else run["n_gpus"]
    return [
        job.get("id") or run["name"],
        job["label"] if job else run["state"],
        count(n_gpus, "GPU"),
        job.get("elapsed", ""),
        run.get("label") or run.get("function") or job["name"],
        run.get("done") or job.get("tasks", ""),
        job.get("place", ""),
        # What a run returned may be long.
        job.get("reason") or ("" if run.get("state") == "done" else run.get("words", "")),
    ]


def follow(
    work: Work, name: str, show: Callable[[str], object], *, to_its_end: bool
) -> dict[str, Any]:
    """Give `show` the output of a job or a run, piece by piece.

    Args:
        name: Number of the job, or a part of the run's name; empty for the newest of both.
        to_its_end: Whether to wait for more until it is over.

    Returns:
        The latest piece.
    """
    job, run = _find(work.list_work()["rows"], name)
    piece = work.read_output(job, run, -1)
    show(piece["text"])
    while to_its_end:
        # Asked before the rest is read: what it printed last is in that.
        is_over = _is_over(work.list_work(), job, run)
        piece = work.read_output(job, run, piece["next_offset"])
        show(piece["text"])
        if is_over and not piece["text"]:
            break
        time.sleep(0 if piece["text"] else _LOOK_S)
    return piece


def _is_over(told: Mapping[str, Any], job: str, run: str) -> bool:
    # A Slurm that does not answer lists no jobs.
    return not told["problem"] and not any(
        (job and row["job"] and row["job"]["id"] == job and not row["job"]["is_over"])
        or (run and row["run"] and row["run"]["name"] == run and not row["run"]["is_over"])
        for row in told["rows"]
    )


def _find(rows: Sequence[Mapping[str, Any]], name: str) -> tuple[str, str]:
    """Return the number of a job, or "", and the name of a run, or ""."""
    known = [
        ((row["job"] or {}).get("id", ""), (row["run"] or {}).get("name", ""))
        for row in rows
        if row["run"] or not (row["job"]["is_session"] or row["job"].get("cluster"))
    ]
    # 12, 12_3, or of another cluster Volta:12.
    if name.partition("_")[0].isdecimal() or ":" in name:
        # One that is older than the list Slurm may know still.
        return next((each for each in known if each[0] == name), (name, ""))
    found = [each for each in known if name in each[1]] if name else known[:1]
    exact = [each for each in found if each[1] == name]
    if not found:
        what = f"no job or run {name!r}" if name else "no jobs and no runs"
        raise LaptopError(f"You have {what}. List them: dsportal jobs")
    if len(exact or found) > 1:
        names = ", ".join(run for _, run in found[:5])
        raise LaptopError(f"{name!r} is a part of several names: {names}. Give more of it.")
    return (exact or found)[0]


def kernel_gpus(session: Session, notebook: str, own: str = "") -> list[dict[str, Any]]:
    """Return what each open notebook's kernel has; or that of one `notebook` alone.

    Args:
        own: Id of the kernel that runs this program, which is meant unless a notebook is named.
    """
    return [
        {"notebook": path, **session.ask("GET", f"portal/api/kernels/{kernel}/gpus")}
        for path, kernel in _kernels(session, notebook, own)
    ]


def ask_for_gpus(
    session: Session, gpus: str, hours: str, notebook: str, own: str = ""
) -> dict[str, Any]:
    """Ask for GPUs such as "2" or "v100:2" for the kernel of a notebook; "0" gives them back.

    Without a `notebook` it is the `own` kernel, see `kernel_gpus`, or the only one that is open.

    Returns:
        What the kernel has and waits for, with its "notebook".
    """
    path, kernel = _only_kernel(session, notebook, own)
    body = {"gpus": gpus, "hours": hours}
    return {
        "notebook": path,
        **session.ask("POST", f"portal/api/kernels/{kernel}/gpus", body),
    }


def submit_job(
    session: Session, path: str, *, is_forecast: bool = False, **order: object
) -> dict[str, Any]:
    """Run a notebook or a script of the session as a job.

    Args:
        path: That of the file in the session's file browser.
        is_forecast: Whether only to ask when it would start.
        order: What the session's REST interface takes, by its keys.

    Returns:
        What the session says of it, with "message".
    """
    route = "portal/api/notebook-jobs" + ("/forecast" if is_forecast else "")
    told: dict[str, Any] = session.ask("POST", route, {"path": path, **order})
    return told


def kernel_of(session: Session, notebook: str) -> str:
    """Return the id of the kernel of an open notebook."""
    return _only_kernel(session, notebook)[1]


def _only_kernel(session: Session, notebook: str, own: str = "") -> tuple[str, str]:
    kernels = _kernels(session, notebook, own)
    if len(kernels) > 1:
        names = ", ".join(path for path, _ in kernels)
        raise LaptopError(f"Several notebooks are open: {names}. Choose one with --notebook.")
    return kernels[0]


def _kernels(session: Session, notebook: str, own: str = "") -> list[tuple[str, str]]:
    opened = [one for one in session.ask("GET", "api/sessions") if one.get("kernel")]
    found = [(one["path"], one["kernel"]["id"]) for one in opened]
    if notebook:
        found = [each for each in found if each[0] == notebook]
    elif own:
        return [each for each in found if each[1] == own] or [("this kernel", own)]
    if not found:
        what = f"The notebook {notebook} is" if notebook else "No notebook is"
        raise LaptopError(f"{what} open with a kernel in your session. Open one: dsportal open")
    return found
