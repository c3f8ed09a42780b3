"""Runs a command that is ended when its parent ends: `exit_with_parent.py PARENT_PID COMMAND...`.

A notebook's kernel can be killed at any moment. Without this, srun would stay behind and its ranks
would hold the session's cores.

Source:
    prctl(2), PR_SET_PDEATHSIG: kept across execve.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(argv: list[str]) -> None:
    """Tie this process to its parent and become the command.

    Args:
        argv: Program name, process id of the parent, and the command.
    """
    parent_pid = int(argv[1])
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    # The parent ended before prctl: no signal will come.
    if os.getppid() != parent_pid:
        sys.exit(1)
    os.execvp(argv[2], argv[2:])  # noqa: S606


if __name__ == "__main__":
    main(sys.argv)
