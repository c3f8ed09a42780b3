"""Ways to ask for GPUs: `%gpu v100:2 --hours 3`, and `with gpus(2):` for the magic `%%gpu 2`.

A block cannot move to another kernel in the middle of a cell, so a cell is taken whole.
"""
# mypy: allow-untyped-defs, allow-untyped-calls

import argparse
import ast
import re
import shlex
import textwrap
from typing import Any

USAGE = (
    "%gpu shows what this kernel has. %gpu 2 asks for two GPUs, %gpu v100:2 --hours 3 for a type "
    "and a length, and %gpu 0 gives them back. With --variables never, variables stay behind."
)
BODY_USAGE = (
    "with gpus(2): has to be the only statement of its cell, with a number, or a type and a number "
    'such as gpus("v100:2", hours=3). Put it into a cell of its own, or write %%gpu 2 in the first '
    "line of a cell."
)
FIRST_LINE = re.compile(r"with gpus\(([^()]*)\):\s*(#.*)?", re.ASCII)


def words_of(line):
    """Return what a line asks for."""
    from IPython.core.error import UsageError

    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("gpus", nargs="?", default="")
    parser.add_argument("--hours", default="")
    parser.add_argument("--variables", default="")
    try:
        known, unknown = parser.parse_known_args(shlex.split(line))
    # An unclosed quote, and an option without its value.
    except (ValueError, SystemExit):
        unknown = [line]
    if unknown:
        raise UsageError(USAGE)
    return vars(known)


def gpus(*_, **__):
    """Say where a block may stand that is to have GPUs."""
    from IPython.core.error import UsageError

    raise UsageError(BODY_USAGE)


def offer(shell):
    """Let notebooks of IPython's `shell` write `with gpus(2):`."""
    shell.push({"gpus": gpus}, interactive=False)

    def transform(lines):
        return as_magic(lines) if shell.user_ns.get("gpus") is gpus else lines

    # Before IPython looks for cell magics.
    shell.input_transformers_cleanup.insert(0, transform)


def as_magic(lines):
    """Return the `lines` of a cell, as the cell magic if they are one `with gpus(2):`."""
    code = [line for line in lines if line.strip() and not line.startswith("#")]
    match = FIRST_LINE.fullmatch(code[0].strip()) if code else None
    if match is None or not code[1:] or not all(line[0] in " \t" for line in code[1:]):
        return lines
    try:
        call: Any = ast.parse(f"gpus({match[1]})", mode="eval").body
        words = [str(ast.literal_eval(one)) for one in call.args]
        words += [f"--{one.arg} {ast.literal_eval(one.value)}" for one in call.keywords]
    except (SyntaxError, ValueError):
        return lines
    body = textwrap.dedent("".join(lines[lines.index(code[0]) + 1 :]))
    return [" ".join(["%%gpu", *words]) + "\n", *body.splitlines(keepends=True)]
