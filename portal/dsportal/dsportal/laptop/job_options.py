"""The words of `dsportal job new`, of a user's own machine and of sessions alike."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dsportal.amounts import DEFAULT_HOURS

_PLACES = {
    "partition": "Slurm partition",
    "account": "Slurm account",
    "qos": "Slurm quality of service",
}
# What is said of a job only where it is asked for, by the keys of the session's REST interface.
_ASKED = (*_PLACES, "mail", "program", "kernel", "mpi", "at", "every", "arguments")


def add_new(
    actions: Any,
    add_more: Callable[[argparse.ArgumentParser], object],
    *,
    environ: Mapping[str, str] | None = None,
) -> argparse.ArgumentParser:
    """Add `new` to `actions`, subparsers of `dsportal job`, and return its parser.

    Options stand before a notebook or behind it. What is behind a script is the script's own.

    Args:
        add_more: Adds options that only one side has.
    """
    options = argparse.ArgumentParser(add_help=False)
    add_size(options, environ)
    options.add_argument(
        "--with",
        dest="program",
        choices=("horovod", "torch", "plain"),
        help="launcher of a script's ranks, plain for any program (default: that of the kernel, "
        "or else horovod)",
    )
    options.add_argument(
        "--kernel",
        default="",
        help="kernel whose Python runs a script, such as an environment of yours (default: "
        "tensorflow for horovod, pytorch for torch, for plain the active one or else the node's "
        "python3)",
    )
    options.add_argument("--mpi", action="store_true", help="Horovod over MPI instead of Gloo")
    options.add_argument(
        "--forecast", action="store_true", help="only say when it would start, or why it would not"
    )
    options.add_argument(
        "--at", metavar="HH:MM", default="", help="begin then, by the clock of the cluster"
    )
    options.add_argument(
        "--every",
        metavar="DAY",
        help="run a notebook again and again: day, or one such as monday; at the time of --at, or "
        "else at that of now",
    )
    add_parameters(options)
    options.add_argument("--json", dest="is_json", action="store_true", help="answer as JSON")
    add_more(options)
    new: argparse.ArgumentParser = actions.add_parser(
        "new",
        parents=[options],
        help="queue a notebook or a training script",
        description="Queues FILE as a job. A notebook runs once, in its own kernel, with all GPUs. "
        "A script has one rank for each GPU, with the portal's cores and memory for each",
    )
    options.prog = new.prog
    new.add_argument("file", help="path of a notebook, or of a training script")
    new.add_argument(
        "arguments",
        nargs=argparse.REMAINDER,
        action=_Behind,
        options=options,
        help="arguments of the script; behind a notebook there may be options",
    )
    return new


class _Behind(argparse.Action):
    """What is behind the file: options of ours if that is a notebook."""

    def __init__(self, *, options: argparse.ArgumentParser, **given: Any) -> None:
        super().__init__(**given)
        self._options = options

    def __call__(
        self,
        _parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        words: Any,
        _option: str | None = None,
    ) -> None:
        is_notebook = namespace.file.endswith(".ipynb")
        if is_notebook:
            self._options.parse_args(words, namespace)
        namespace.arguments = [] if is_notebook else words


def add_parameters(command: argparse.ArgumentParser) -> None:
    """Add the option of a notebook's parameters."""
    command.add_argument(
        *("-p", "--parameter"),
        dest="parameters",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the notebook, such as lr=0.1",
    )


def add_size(command: argparse.ArgumentParser, environ: Mapping[str, str] | None = None) -> None:
    """Add the options of a job's size and place, and of mail about it.

    Args:
        environ: That of the session, whose place is the default.
    """
    command.add_argument(
        "--gpus", type=int, default=1, help="number of GPUs on all nodes together (default: 1)"
    )
    command.add_argument("--nodes", type=int, default=1, help="number of nodes (default: 1)")
    command.add_argument(
        "--hours",
        type=float,
        default=DEFAULT_HOURS,
        help=f"time limit in hours (default: {DEFAULT_HOURS})",
    )
    for word, what in _PLACES.items():
        command.add_argument(
            f"--{word}",
            default=(environ or {}).get(f"SLURM_JOB_{word.upper()}", ""),
            help=f"{what} (default: the session's, or else the cluster's)",
        )
    command.add_argument(
        "--mail",
        action="store_true",
        help="have Slurm write you when it has ended, if the site's Slurm sends mail",
    )


def order_of(arguments: argparse.Namespace, more: Sequence[str] = _ASKED) -> dict[str, object]:
    """Return what the session is asked for: the size, and of `more` what was said."""
    said = vars(arguments)
    size = {key: said[key] for key in ("gpus", "nodes", "hours")}
    return size | {key: said[key] for key in more if said.get(key)}
