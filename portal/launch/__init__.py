"""Training on several GPUs, started from a cell of a notebook.

    from portal.launch import run

    accuracy = run(train, epochs=3, gpus=2)             # inside the session
    accuracy = run(train, epochs=3, gpus=8, nodes=2)    # as a job of its own, across nodes
    training = run(train, gpus=8, nodes=2, wait=False)  # continues without the notebook
    runs(), attach("k3v9").wait()                       # find it again
    accuracy = run(train, gpus=8, nodes=2, mpi=True)    # Horovod over MPI instead of Gloo

`report(step=..., images=..., loss=...)` in the function feeds a progress bar in the cell.

The magic `%%ranks --gpus 2` runs the body of its cell on every rank.

`tensorboard("logs")` starts a TensorBoard and shows the link to it.

This package is installed into the environments of the frameworks, without dependencies.
"""

from __future__ import annotations

from portal.launch.errors import (
    LaunchError,
    RankError,
    SessionError,
    StepError,
    TensorBoardError,
    UnaveragedError,
)
from portal.launch.notebook.handle import Run
from portal.launch.notebook.magic import register
from portal.launch.notebook.runner import run
from portal.launch.notebook.runs import attach, runs
from portal.launch.notebook.tensorboard import tensorboard
from portal.launch.p2p import p2p
from portal.launch.worker.progress import report

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
