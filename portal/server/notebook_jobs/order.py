"""What the form of a notebook asks for, as a command line. Pure."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dsportal.amounts import SECONDS_PER_HOUR, count, format_duration
from portal.server.notebook_jobs.errors import NotebookJobError
from spawner.options.budget_messages import ChargedBudgets
from spawner.slurm.resources import ResourcesPerGpu


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookOrder:
    """A notebook to run as a job.

    Attributes:
        path: Absolute.
        gpus: On all nodes together.
        parameters: Text of each value by name.
    """

    path: Path
    gpus: int
    nodes: int
    hours: float
    parameters: Mapping[str, str]

    def arguments(self) -> list[str]:
        """Return the arguments of the command `dsportal`."""
        given = [word for pair in self.parameters.items() for word in ("-p", "=".join(pair))]
        size = [f"--gpus={self.gpus}", f"--nodes={self.nodes}", f"--hours={self.hours}"]
        return ["job", "new", "--submit", *size, str(self.path), *given]


def parse_order(body: bytes, root: Path) -> NotebookOrder:
    """Return what a request asks for.

    Args:
        body: JSON with `path` below `root`, `gpus`, `nodes`, `hours` and `parameters`.
        root: The folder at the top of the file browser.
    """
    try:
        values: Any = json.loads(body)
        name, parameters = str(values["path"]), dict(values.get("parameters") or {})
        gpus, nodes = int(values.get("gpus", 1)), int(values.get("nodes", 1))
        hours = float(values.get("hours", 8))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise NotebookJobError(
            'Name the notebook: {"path": "train.ipynb", "gpus": 1, "nodes": 1, "hours": 8, '
            '"parameters": {"lr": "0.1"}}.'
        ) from error
    texts = {str(each): str(value) for each, value in parameters.items()}
    if any("\0" in text for text in (name, *texts, *texts.values())):
        raise NotebookJobError("No name and no value can hold a null character. Take it away.")
    # Lexical only: links, such as the one to the shared storage, may lead out of the root.
    path = Path(os.path.normpath(root / name))
    if not path.is_relative_to(root) or path == root:
        raise NotebookJobError(
            "The notebook is outside your files. Choose one in the file browser."
        )
    return NotebookOrder(path=path, gpus=gpus, nodes=nodes, hours=hours, parameters=texts)


def check_budget(order: NotebookOrder, per_gpu: ResourcesPerGpu, charged: ChargedBudgets) -> None:
    """Refuse a job for which too little is left.

    Args:
        order: What was asked.
        per_gpu: Cores and memory of each GPU.
        charged: The budgets of the user's jobs.
    """
    walltime_s = math.ceil(order.hours * SECONDS_PER_HOUR)
    if refusal := charged.why_not(per_gpu.resources(order.gpus), None, walltime_s):
        asked = f"{count(order.gpus, 'GPU')} for {format_duration(walltime_s)}"
        raise NotebookJobError(f"You asked for {asked}. {refusal}")
