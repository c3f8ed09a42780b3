"""`%module load gcc` changes the variables of the kernel, as `module load` does in a shell.

What `!module load gcc` changes is gone with the shell of that line.
"""
# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile

# As bash inherits the function that the portal, or the site's prologue, has exported.
FUNCTION = "BASH_FUNC_module%%"
_SCRIPT = 'variables=$1; shift; module "$@"; status=$?; env -0 >&"$variables"; exit $status'
# What the shell itself sets.
_OF_THE_SHELL = {"_", "SHLVL", "PWD", "OLDPWD"}


def register_magic(shell):
    """Register the magic in IPython's `shell`, where the node has environment modules."""
    if FUNCTION in os.environ:
        shell.register_magic_function(run_module, "line", "module")


def run_module(line: str) -> None:
    """Run `module`, and take over the variables that it changes: %module load gcc.

    A library that Python has loaded stays as it is: load modules before the first import.
    """
    with tempfile.TemporaryFile() as file:
        done = subprocess.run(
            ["bash", "-c", _SCRIPT, "module", str(file.fileno()), *shlex.split(line)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            pass_fds=[file.fileno()],
            check=False,
        )
        file.seek(0)
        take_over(file.read())
    print(done.stdout, end="")


def take_over(variables: bytes) -> None:
    """Make the environment of this process that of a shell, as `env -0` prints its variables."""
    pairs = (one.partition("=") for one in os.fsdecode(variables).split("\0") if one)
    told = {name: value for name, _, value in pairs if name not in _OF_THE_SHELL}
    # A shell that did not get to the end says nothing.
    for name in set(os.environ) - set(told) - _OF_THE_SHELL if told else ():
        del os.environ[name]
    os.environ.update(told)
