"""Training on several GPUs, started from a cell of a notebook.

    from dsportal import run

    accuracy = run(train, epochs=3, gpus=2)             # inside the session
    accuracy = run(train, epochs=3, gpus=8, nodes=2)    # as a job of its own, across nodes
    training = run(train, gpus=8, nodes=2, wait=False)  # continues without the notebook
    runs(), attach("k3v9").wait()                       # find it again
    accuracy = run(train, gpus=8, nodes=2, mpi=True)    # Horovod over MPI instead of Gloo

`report(step=..., images=..., loss=...)` in the function feeds a progress bar in the cell.

The magic `%%ranks --gpus 2` runs the body of its cell on every rank.

`tensorboard("logs")` starts a TensorBoard and shows the link to it.

`dsportal` needs nothing but Python, and every Python kernel of a session finds it.
Within the portal it is `portal.launch`; its modules import each other relatively, so that they work
under both names.
"""

from __future__ import annotations

import sys

if sys.version_info < (3, 10):  # noqa: UP036 - the kernel's Python, not the portal's
    raise ImportError(
        "dsportal needs Python 3.10 or newer, and this kernel has "
        f"{sys.version.split()[0]}. Choose another kernel, or make an environment with a newer "
        "Python: dsportal environments new NAME --python 3.12"
    )
if __name__ == "portal.launch":
    from portal.old_names import give_way

    give_way(__name__)

from .errors import (
    LaunchError,
    RankError,
    SessionError,
    StepError,
    TensorBoardError,
    UnaveragedError,
)
from .notebook.handle import Run
from .notebook.magic import register
from .notebook.runner import run
from .notebook.runs import attach, runs
from .notebook.tensorboard import tensorboard
from .p2p import p2p
from .worker.progress import report

__version__ = "0.1.0"
__all__ = [
    "LaunchError",
    "RankError",
    "Run",
    "SessionError",
    "StepError",
    "TensorBoardError",
    "UnaveragedError",
    "attach",
    "p2p",
    "report",
    "run",
    "runs",
    "tensorboard",
]

# On import, so that `%%ranks` needs no %load_ext.
register()
