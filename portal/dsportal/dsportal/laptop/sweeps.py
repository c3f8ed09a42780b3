"""`dsportal sweep`, here and in sessions: its words, and its table until it ends."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from .host import LaptopError
from .job_options import order_of
from .sessions import Session

_LOOK_S = 5.0


def add_actions(
    parser: argparse.ArgumentParser,
) -> tuple[argparse.ArgumentParser, argparse.ArgumentParser, argparse.ArgumentParser]:
    """Add the actions `new`, `show` and `stop`, and return the parser of each."""
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    new = actions.add_parser("new", help="queue a sweep")
    new.add_argument("program", help="path of a notebook, or of a Python script")
    new.add_argument(
        *("-p", "--parameter"),
        dest="parameters",
        action="append",
        required=True,
        metavar="NAME=VALUE",
        help="a value of a parameter; once for each value: -p lr=0.1 -p lr=0.01. A script gets it "
        "as an option, --lr=0.1",
    )
    new.add_argument(
        "--kernel", default="", help="kernel whose Python runs a script, such as pytorch"
    )
    new.add_argument("--at-once", type=int, default=8, help="points that run at a time (8)")
    new.add_argument(
        "--metric",
        default="",
        help="which result decides (the first number of the last cell; the loss that a script "
        "reports)",
    )
    new.add_argument(
        "--best",
        choices=("largest", "smallest"),
        help="which result is best (largest; of a script smallest)",
    )
    show = actions.add_parser("show", help="show how far its points are, and the best")
    show.add_argument(
        *("-f", "--follow"), dest="is_followed", action="store_true", help="wait until it ends"
    )
    stop = actions.add_parser("stop", help="cancel the points that run or wait")
    for action in (show, stop):
        action.add_argument("sweep", nargs="?", default="", help="its name, or a part (the newest)")
    new.add_argument(
        "--as", dest="sweep", default="", metavar="NAME", help="its name, which continues it later"
    )
    for word, action in actions.choices.items():
        action.set_defaults(action=word)
    return new, show, stop


def follow(arguments: argparse.Namespace, look: Callable[[], dict[str, Any]]) -> None:
    """Show the table that `look` returns, with `is_followed` again until the sweep has ended."""
    shown = ""
    while True:
        told = look()
        is_last = not (arguments.is_followed and told["is_going_on"])
        if arguments.is_json:
            if is_last:
                print(json.dumps(told), flush=True)
        elif told["words"] != shown:
            print(f"\n{told['words']}" if shown else told["words"], flush=True)
        if is_last:
            return
        shown = told["words"]
        time.sleep(_LOOK_S)


def ask(session: Session, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what a session says of a sweep."""
    path = "portal/api/sweeps"
    if arguments.action == "new":
        if wrong := [text for text in arguments.parameters if "=" not in text]:
            raise LaptopError(f"{wrong[0]!r} is no parameter. Write -p lr=0.1 -p lr=0.01")
        grid: dict[str, list[str]] = {}
        for name, _, value in (text.partition("=") for text in arguments.parameters):
            grid.setdefault(name, []).append(value)
        keys = ("at_once", "metric", "best", "kernel", "partition", "account", "qos", "mail")
        order = order_of(arguments, keys)
        order |= {"path": arguments.program, "name": arguments.sweep, "grid": grid}
        told = session.ask("POST", path, order)
    else:
        method = {"show": "GET", "stop": "DELETE"}[arguments.action]
        told = session.ask(method, f"{path}?name={quote(arguments.sweep)}")
    return dict(told)
