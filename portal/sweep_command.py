"""The command `dsportal sweep`: a notebook or script with many values, as one array of jobs."""

import argparse
import json
import os
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsportal.errors import LaunchError
from dsportal.laptop.job_options import add_size
from dsportal.laptop.sweeps import add_actions, follow
from dsportal.laptop.verbs import answer
from dsportal.launch.job_file import in_kernel
from dsportal.packages.start import KERNEL
from dsportal.task.notebook import is_notebook, parse_parameter
from portal.activate_command import SCRIPT, find_activation
from portal.confirmation import Commands
from portal.job_command import check_notebook
from portal.job_size import JobError, commands_folder, parse_size, read_rule

if TYPE_CHECKING:
    from dsportal.notebook.sweep_handle import Sweep


def add_commands(commands: Commands) -> None:
    """Add `sweep` to `commands`."""
    parser = commands.add_parser("sweep", help="try many values with a notebook or a script")
    new, show, stop = add_actions(parser)
    add_size(new, os.environ)
    for action in (new, show, stop):
        action.add_argument("--json", dest="is_json", action="store_true", help="answer as JSON")
    new.set_defaults(run=start)
    show.set_defaults(run=show_table)
    stop.set_defaults(run=cancel)


def start(arguments: argparse.Namespace) -> int:
    """Queue a sweep."""
    from portal.job_submission import check_limits, submit_sweep

    program = Path(arguments.program).absolute()
    is_script, best, metric = not is_notebook(program), arguments.best, arguments.metric
    if is_script:
        command = _in_kernel(arguments.kernel)
        # All that it tells of itself.
        best, metric = best or "smallest", metric or "loss"
    else:
        check_notebook(program, ())
        command = [str(commands_folder() / "dsportal"), "job", "run"]
    rule = read_rule(os.environ)
    request = parse_size(arguments, program, rule)
    check_limits(request)
    with redirect_stdout(StringIO()) as said:
        started = submit_sweep(
            program,
            request,
            grid_of(arguments.parameters, is_option=is_script),
            command=command,
            simulated_gpus=rule.simulated_gpus,
            name=arguments.sweep,
            at_once=arguments.at_once,
            best=best or "largest",
            metric=metric,
        )
    told = {"name": started.name, "message": said.getvalue().strip()}
    answer(arguments, told, told["message"])
    return 0


def _in_kernel(kernel: str) -> list[str]:
    kernel = kernel or os.environ.get(KERNEL, "")
    # Refuses one that there is not, and none.
    find_activation(kernel)
    return in_kernel(commands_folder() / SCRIPT, kernel)


def grid_of(words: Sequence[str], *, is_option: bool = False) -> dict[str, list[Any]]:
    """Return the values of each parameter: `lr=0.1` and `lr=0.01` are two of one."""
    grid: dict[str, list[Any]] = {}
    try:
        for word in words:
            name, value = parse_parameter(word, is_option=is_option)
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
