"""Training on several GPUs, started from a cell of a notebook.

    from portal.launch import run

    accuracy = run(train, epochs=3, gpus=2)

TensorBoard has the same way in: `tensorboard("logs")` shows the link to it.

This package is installed into the environments of the frameworks, without dependencies.
"""

from __future__ import annotations

from portal.launch.board import tensorboard
from portal.launch.errors import (
    BoardError,
    LaunchError,
    RankError,
    SessionError,
    StepError,
    UnaveragedError,
)
from portal.launch.runner import run

__all__ = [
    "BoardError",
    "LaunchError",
    "RankError",
    "SessionError",
    "StepError",
    "UnaveragedError",
    "run",
    "tensorboard",
]
