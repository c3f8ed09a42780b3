"""What jobs and steps do not inherit from the notebook that starts them. Pure but for `main`.

A copy of this file, named like a program of Slurm's, starts that program: it stands in front of it
on the PATH of sessions, so it imports nothing of this package.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

# Tokens of the session, its certificates and its sockets.
_SECRETS = (
    *("JUPYTERHUB_", "JUPYTER_TOKEN", "JPY_", "PORTAL_HUB_AUTHORITY", "PORTAL_SERVER_SOCKET"),
    *("PORTAL_KERNEL_ID", "PORTAL_KERNEL_JOB"),
)
# What ipykernel 7 sets in its process, for a page and not for a job; another value is the user's.
_OF_KERNELS = {
    ("CLICOLOR", "1"),
    ("CLICOLOR_FORCE", "1"),
    ("FORCE_COLOR", "1"),
    ("GIT_PAGER", "cat"),
    ("MPLBACKEND", "module://matplotlib_inline.backend_inline"),
    ("PAGER", "cat"),
    ("TERM", "xterm-color"),
}


def inherited(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what a job or step inherits of a notebook's environment: nothing of its session."""
    return {
        name: value
        for name, value in environ.items()
        if not name.startswith(_SECRETS) and (name, value) not in _OF_KERNELS
    }


def main(argv: Sequence[str]) -> int:
    """Become Slurm's program of the name that this file has.

    Returns:
        127 if there is none, as a shell would; else it does not return.
    """
    name = os.path.basename(argv[0])
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        program = os.path.join(folder, name)
        if os.access(program, os.X_OK) and not os.path.samefile(program, __file__):
            os.execve(program, [name, *argv[1:]], inherited(os.environ))  # noqa: S606
    print(f"{name}: this node has no such program of Slurm's.", file=sys.stderr)
    return 127


if __name__ == "__main__":
    sys.exit(main(sys.argv))
