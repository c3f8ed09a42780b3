"""What the form of a notebook asks for, as a command line."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dsportal.amounts import SECONDS_PER_HOUR
from dsportal.slurm.again import EVERY
from dsportal.slurm.errors import OptionsError
from dsportal.task.folder import RunFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookOrder:
    """A notebook to run as a job.

    Attributes:
        path: Absolute.
        gpus: On all nodes together.
        parameters: Text of each value by name.
        every: One of `EVERY` for a job that runs again and again, or "".
        at: When it begins, such as "04:00"; "" for at once.
        mail: Whether Slurm writes the user when it has ended.
    """

    path: Path
    gpus: int
    nodes: int
    hours: float
    parameters: Mapping[str, str]
    every: str = ""
    at: str = ""
    mail: bool = False

    def arguments(self, action: str = "--submit") -> list[str]:
        """Return the arguments of the command `dsportal`, to submit it or for its "--forecast"."""
        given = [word for pair in self.parameters.items() for word in ("-p", "=".join(pair))]
        size = [f"--gpus={self.gpus}", f"--nodes={self.nodes}", f"--hours={self.hours}"]
        when = [f"--every={self.every}"] if self.every else []
        when += [f"--at={self.at}"] if self.at else []
        when += ["--mail"] if self.mail else []
        return ["job", "new", action, *size, *when, str(self.path), *given]


def parse_order(body: bytes, root: Path) -> NotebookOrder:
    """Return what a request asks for.

    Args:
        body: JSON with `path` below `root`, and if wanted `gpus`, `nodes`, `hours`, `parameters`,
            `every`, `at` and `mail`.
        root: The folder at the top of the file browser.
    """
    try:
        values: Any = json.loads(body)
        name, parameters = str(values["path"]), dict(values.get("parameters") or {})
        gpus, nodes = int(values.get("gpus", 1)), int(values.get("nodes", 1))
        hours = float(values.get("hours", 8))
        every, at = (str(values.get(key) or "") for key in ("every", "at"))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise OptionsError(
            'Name the notebook: {"path": "train.ipynb", "gpus": 1, "nodes": 1, "hours": 8, '
            '"parameters": {"lr": "0.1"}}.'
        ) from error
    texts = {str(each): str(value) for each, value in parameters.items()}
    if any("\0" in text for text in (name, at, *texts, *texts.values())):
        raise OptionsError("No name and no value can hold a null character. Take it away.")
    if every and every not in EVERY:
        raise OptionsError(f"{every!r:.60} is no day. Choose one of {', '.join(EVERY)}.")
    # Lexical only: links, such as the one to the shared storage, may lead out of the root.
    path = Path(os.path.normpath(root / name))
    if not path.is_relative_to(root) or path == root:
        raise OptionsError("The notebook is outside your files. Choose one in the file browser.")
    return NotebookOrder(
        path=path,
        gpus=gpus,
        nodes=nodes,
        hours=hours,
        parameters=texts,
        every=every,
        at=at,
        mail=values.get("mail") is True,
    )


def sweep_arguments(body: bytes, root: Path) -> list[str]:
    """Return the arguments of the command `dsportal` for the sweep that a request asks for.

    Args:
        body: JSON as `parse_order` takes it, with `grid` in place of `parameters`, and if wanted
            `at_once`, `metric`, `best`, `kernel` and `name`. Its `path` may be that of a script.
        root: As there.
    """
    order = parse_order(body, root)
    values = json.loads(body)
    try:
        grid = {str(name): list(given) for name, given in dict(values["grid"]).items()}
    except (KeyError, TypeError, ValueError) as error:
        raise OptionsError(
            'Give the values of each parameter: {"path": "train.ipynb", "grid": {"lr": [0.1]}}.'
        ) from error
    keys = ("at_once", "metric", "best", "kernel")
    options = {"as": "name", **{key.replace("_", "-"): key for key in keys}}
    words = [f"--{word}={values[key]}" for word, key in options.items() if values.get(key)]
    for name, given in grid.items():
        texts = (each if isinstance(each, str) else json.dumps(each) for each in given)
        words += [word for text in texts for word in ("-p", f"{name}={text}")]
    if any("\0" in word for word in words):
        raise OptionsError("No name and no value can hold a null character. Take it away.")
    size = [f"--gpus={order.gpus}", f"--nodes={order.nodes}", f"--hours={order.hours}"]
    return ["sweep", "new", "--json", *size, *words, str(order.path)]


def former_order(run: str, parent: Path, root: Path) -> dict[str, Any]:
    """Return `path`, `size` and `parameters` of a notebook's run, for a form that asks again.

    Args:
        run: Name of its folder in `parent`.
        parent: Folder of all runs.
        root: The folder at the top of the file browser.
    """
    plan = None
    if run == Path(run).name and "\0" not in run:
        with suppress(OSError, ValueError, KeyError, TypeError):
            plan = RunFolder(parent / run).read_plan()
    if plan is None or not plan.executes or not Path(plan.executes).is_relative_to(root):
        raise OptionsError(f"There is no notebook of a run {run!r:.80} below your files.")
    size: dict[str, float] = {"gpus": plan.n_ranks, "nodes": plan.n_nodes}
    if plan.walltime_s:
        size["hours"] = round(plan.walltime_s / SECONDS_PER_HOUR, 4)
    path = str(Path(plan.executes).relative_to(root))
    return {"path": path, "size": size, "parameters": plan.parameters}
