"""Errors of setting the portal up, and how the user is told."""

import sys
from collections.abc import Sequence
from pathlib import Path


class DeployError(Exception):
    """A step cannot be done.

    Args:
        message: One or two sentences: what was tried and what was in the way.
        next_step: One sentence: what to do now; empty if the log says more.
        log: The file that says more, or None.
    """

    def __init__(self, message: str, next_step: str = "", *, log: Path | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step
        self.log = log


class CommandError(DeployError):
    """A system program failed; its exit code is None if it did not end in time."""

    def __init__(self, argv: Sequence[str], exit_code: int | None, output: str) -> None:
        how = "did not end in time" if exit_code is None else f"ended with status {exit_code}"
        # The cause comes last, often after hundreds of lines of apt.
        last_lines = "\n".join(output.strip().splitlines()[-10:])
        super().__init__(
            f"'{' '.join(argv)}' {how}." + (f"\n{last_lines}" if last_lines else ""),
            next_step="Run this command by hand to see more, then run yours again.",
        )
        self.argv = tuple(argv)
        self.exit_code = exit_code
        self.output = output


def report_failure(error: DeployError | OSError, command: str) -> int:
    """Print what failed, where the log is and what to do.

    `command` is what the user ran, such as "deploy/up".

    Returns:
        Its exit status.
    """
    print(f"\n{command} could not finish.", file=sys.stderr)
    if isinstance(error, DeployError):
        print(error.message, file=sys.stderr)
        if error.log is not None:
            print(f"Log: {error.log}", file=sys.stderr)
        if error.next_step:
            print(f"What to do: {error.next_step}", file=sys.stderr)
    else:
        print(f"The system said: {error}", file=sys.stderr)
        print(f"What to do: remove the cause, then run {command} again.", file=sys.stderr)
    return 1
