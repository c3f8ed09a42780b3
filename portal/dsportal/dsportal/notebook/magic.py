"""The magic `%%ranks`: runs the body of a cell on every rank.

    %%ranks --gpus 4 --nodes 2
    import dsportal.horovod_keras as hvd
    hvd.init()
    ...

Importing dsportal in a notebook offers it.
"""

import argparse
import shlex
from typing import Any, NoReturn

from dsportal.errors import LaunchError
from dsportal.notebook.runner import run
from dsportal.task.cell import cell_names, run_cell


class _Parser(argparse.ArgumentParser):
    # argparse would print the usage and exit the kernel.
    def error(self, message: str) -> NoReturn:
        raise LaunchError(f"{message}. Write for example: %%ranks --gpus 4 --nodes 2")


def parse_line(line: str) -> argparse.Namespace:
    """Parse the options after `%%ranks`.

    Returns:
        gpus (or None), nodes, show, results, wait, mpi and hours (or None), as for `run`.
    """
    # No abbreviations: a later option could make one of them mean something else.
    parser = _Parser(prog="%%ranks", add_help=False, allow_abbrev=False)
    parser.add_argument("--gpus", type=int)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--hours", type=float)
    parser.add_argument("--show", choices=("first", "all"), default="first")
    parser.add_argument("--results", choices=("first", "all"), default="first")
    parser.add_argument("--no-wait", dest="wait", action="store_false")
    parser.add_argument("--mpi", action="store_true")
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise LaunchError(f"{error} in {line!r}.") from error
    return parser.parse_args(words)


def load_ipython_extension(shell: Any) -> None:
    """Register `%%ranks` in IPython's `shell`, which calls it for the first `%%ranks`."""

    def ranks(line: str, cell: str) -> Any:
        options = vars(parse_line(line))
        # Ranks get only the names that the cell uses: the whole namespace may not be picklable.
        return run(run_cell, cell, cell_names(cell, shell.user_ns), **options)

    shell.register_magic_function(ranks, "cell", "ranks")
