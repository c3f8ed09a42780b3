"""What a form or the laptop asks for, as a command line."""

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dsportal.amounts import DEFAULT_HOURS, SECONDS_PER_HOUR
from dsportal.slurm.errors import OptionsError
from dsportal.task.folder import RunFolder
from dsportal.task.notebook import is_notebook

# Words of the command by the keys of a request.
_SIZE = {"partition": "partition", "account": "account", "qos": "qos", "mail": "mail"}
_MORE = {"with": "program", "kernel": "kernel", "mpi": "mpi", "every": "every", "at": "at"}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOrder:
    """A notebook or a script to run as a job.

    Attributes:
        path: Absolute.
        size: Options of the command `dsportal`: what each job asks Slurm for.
    """

    path: Path
    size: Sequence[str]
    more: Sequence[str] = ()
    arguments: Sequence[str] = ()

    def words(self, *actions: str) -> list[str]:
        """Return the arguments of the command, to submit it or for `actions` such as --forecast."""
        return ["job", "new", *actions, *self.size, *self.more, str(self.path), *self.arguments]


def parse_order(body: bytes, root: Path) -> JobOrder:
    """Return what a request asks for.

    Args:
        body: JSON with `path` below `root`, and if wanted `gpus`, `nodes`, `hours`, `partition`,
            `account`, `qos`, `mail`, `every`, `at` and `parameters` of a notebook; of a script
            `program`, `kernel`, `mpi` and `arguments`.
        root: The folder at the top of the file browser.
    """
    try:
        values: Any = json.loads(body)
        name, parameters = str(values["path"]), dict(values.get("parameters") or {})
        gpus, nodes = int(values.get("gpus", 1)), int(values.get("nodes", 1))
        hours = float(values.get("hours", DEFAULT_HOURS))
        arguments = [str(word) for word in values.get("arguments") or ()]
        size, more = _options(values, _SIZE), _options(values, _MORE)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise OptionsError(
            'Name the notebook: {"path": "train.ipynb", "gpus": 1, "nodes": 1, "hours": 8, '
            '"parameters": {"lr": "0.1"}}.'
        ) from error
    more += [word for pair in parameters.items() for word in ("-p", "=".join(map(str, pair)))]
    if any("\0" in text for text in (name, *size, *more, *arguments)):
        raise OptionsError("No name and no value can hold a null character. Take it away.")
    # Lexical only: links, such as the one to the shared storage, may lead out of the root.
    path = Path(os.path.normpath(root / name))
    if not path.is_relative_to(root) or path == root:
        raise OptionsError("The file is outside your files. Choose one in the file browser.")
    # Behind a notebook the command reads options.
    if arguments and is_notebook(path):
        raise OptionsError(f"{path.name} takes parameters. Arguments are for scripts.")
    numbers = [f"--gpus={gpus}", f"--nodes={nodes}", f"--hours={hours}"]
    return JobOrder(path=path, size=[*numbers, *size], more=more, arguments=arguments)


def _options(values: Mapping[str, Any], keys: Mapping[str, str]) -> list[str]:
    given = {word: value for word, key in keys.items() if (value := values.get(key))}
    return [f"--{word}" if value is True else f"--{word}={value}" for word, value in given.items()]


def sweep_arguments(body: bytes, root: Path) -> list[str]:
    """Return the arguments of the command `dsportal` for the sweep that a request asks for.

    Args:
        body: JSON as `parse_order` takes it, with `grid` in place of `parameters`, and if wanted
            `at_once`, `metric`, `best`, `kernel` and `name`. Its `path` may be that of a script.
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
    words = _options(values, {"as": "name", **{key.replace("_", "-"): key for key in keys}})
    for name, given in grid.items():
        texts = (each if isinstance(each, str) else json.dumps(each) for each in given)
        words += [word for text in texts for word in ("-p", f"{name}={text}")]
    if any("\0" in word for word in words):
        raise OptionsError("No name and no value can hold a null character. Take it away.")
    return ["sweep", "new", "--json", *order.size, *words, str(order.path)]


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
