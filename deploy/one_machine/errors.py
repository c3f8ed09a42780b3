"""Errors of setting the portal up on one machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


class DeployError(Exception):
    """A step cannot be done.

    Args:
        message: One or two sentences: what was tried and what was in the way.
        next_step: One sentence: what to do now.
        log: The file that says more, or None.
    """

    def __init__(self, message: str, *, next_step: str, log: Path | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step
        self.log = log


class CommandError(DeployError):
    """A system program failed.

    Args:
        argv: The command as it was run; holds no secret.
        exit_code: None if it did not end in time.
        output: Standard output and standard error.
    """

    def __init__(self, argv: Sequence[str], exit_code: int | None, output: str) -> None:
        how = "did not end in time" if exit_code is None else f"ended with status {exit_code}"
        # The cause comes last, often after hundreds of lines of apt.
        last_lines = "\n".join(output.strip().splitlines()[-10:])
        super().__init__(
            f"'{' '.join(argv)}' {how}." + (f"\n{last_lines}" if last_lines else ""),
            next_step="Run this command by hand to see more, then run deploy/up again.",
        )
        self.argv = tuple(argv)
        self.exit_code = exit_code
        self.output = output


class DaemonEndedError(DeployError):
    """A daemon ended soon after it was started.

    Args:
        log: Where it wrote last.
    """

    def __init__(self, name: str, log: Path) -> None:
        said = log.read_text(errors="replace") if log.exists() else ""
        last_lines = "".join(f"\n{line}" for line in said.splitlines()[-5:])
        super().__init__(
            f"{name} ended soon after it was started.{last_lines}",
            next_step="Read the end of the log, then run deploy/up again.",
            log=log,
        )
