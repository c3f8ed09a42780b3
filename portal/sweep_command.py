"""The command `dsportal sweep`: a notebook with many values, as one array of Slurm jobs."""

import argparse
import json
import os
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsportal.errors import LaunchError
from dsportal.laptop.sweeps import add_actions, follow
from dsportal.laptop.verbs import answer
from dsportal.task.notebook import is_notebook, parse_parameter
from portal.confirmation import Commands
from portal.job_command import check_notebook
from portal.job_size import JobError, add_size, commands_folder, parse_size, read_rule

if TYPE_CHECKING:
    from dsportal.notebook.sweep_handle import Sweep


def add_commands(commands: Commands) -> None:
    """Add `sweep` to `commands`."""
    parser = commands.add_parser("sweep", help="try many values of a notebook's parameters")
    new, show, stop = add_actions(parser)
    add_size(new)
    for action in (new, show, stop):
        action.add_argument("--json", dest="is_json", action="store_true", help="answer as JSON")
    new.set_defaults(run=start)
    show.set_defaults(run=show_table)
    stop.set_defaults(run=cancel)


def start(arguments: argparse.Namespace) -> int:
    """Queue a sweep."""
    from portal.job_submission import check_limits, submit_sweep

    notebook = Path(arguments.notebook).absolute()
    if not is_notebook(notebook):
        raise JobError(f"{notebook} is no notebook. A sweep of a function starts in a notebook.")
    check_notebook(notebook, ())
    rule = read_rule(os.environ)
    request = parse_size(arguments, notebook, rule)
    check_limits(request)
    with redirect_stdout(StringIO()) as said:
        started = submit_sweep(
            notebook,
            request,
            grid_of(arguments.parameters),
            command=str(commands_folder() / "dsportal"),
            simulated_gpus=rule.simulated_gpus,
            name=arguments.sweep,
            at_once=arguments.at_once,
            best=arguments.best,
            metric=arguments.metric,
        )
    told = {"name": started.name, "message": said.getvalue().strip()}
    answer(arguments, told, told["message"])
    return 0


def grid_of(words: Sequence[str]) -> dict[str, list[Any]]:
    """Return the values of each parameter: `lr=0.1` and `lr=0.01` are two of one."""
    grid: dict[str, list[Any]] = {}
    try:
        for name, value in map(parse_parameter, words):
            grid.setdefault(name, []).append(value)
    except LaunchError as error:
        raise JobError(str(error)) from error
    return grid


def show_table(arguments: argparse.Namespace) -> int:
    """Show how far a sweep is."""
    sweep = _find(arguments.sweep)
    follow(arguments, lambda: table_of(sweep))
    return 0


def table_of(sweep: "Sweep") -> dict[str, Any]:
    """Return a sweep's `name`, its `rows`, its `words`, and whether it `is_going_on`."""
    table = sweep.table()
    return {
        "name": sweep.name,
        "words": str(table),
        # What a notebook returned may be anything.
        "rows": json.loads(json.dumps([one.row() for one in table.points], default=repr)),
        "is_going_on": table.is_going_on,
    }


def cancel(arguments: argparse.Namespace) -> int:
    """Cancel the points that run or wait."""
    sweep = _find(arguments.sweep)
    with redirect_stdout(StringIO()) as said:
        sweep.stop()
    told = {"name": sweep.name, "message": f"{sweep.name}: {said.getvalue().strip()}"}
    answer(arguments, told, told["message"])
    return 0


def _find(name: str) -> "Sweep":
    from dsportal.notebook.sweep_handle import Sweep

    try:
        return Sweep.load(name)
    except LaunchError as error:
        raise JobError(str(error)) from error
