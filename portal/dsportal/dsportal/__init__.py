"""Training on several GPUs, started from a cell of a notebook.

    from dsportal import run

    accuracy = run(train, epochs=3, gpus=2)             # inside the session
    accuracy = run(train, epochs=3, gpus=8, nodes=2)    # as a job of its own, across nodes
    training = run(train, gpus=8, nodes=2, wait=False)  # continues without the notebook
    runs(), attach("k3v9").wait()                       # find it again
    accuracy = run(train, gpus=8, nodes=2, mpi=True)    # Horovod over MPI instead of Gloo
    run("train.ipynb", gpus=2, parameters={"lr": 0.1})  # a notebook as a job
    sweep(train, {"lr": [0.1, 0.01]}, at_once=8)        # a job for each point of a grid

`report(step=..., images=..., loss=...)` in the function feeds a progress bar in the cell.

The magic `%%ranks --gpus 2` runs the body of its cell on every rank.

`tensorboard("logs")` starts a TensorBoard and shows the link to it.

`dsportal` needs nothing but Python, and every Python kernel of a session finds it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if sys.version_info < (3, 10):  # noqa: UP036 - the kernel's Python, not the portal's
    raise ImportError(
        "dsportal needs Python 3.10 or newer, and this kernel has "
        f"{sys.version.split()[0]}. Choose another kernel, or make an environment with a newer "
        "Python: dsportal environments new NAME --python 3.12"
    )

if TYPE_CHECKING:
    from dsportal.errors import (
        LaunchError,
        RankError,
        SessionError,
        StepError,
        TensorBoardError,
        UnaveragedError,
    )
    from dsportal.gpu_links import p2p
    from dsportal.notebook.handle import Run
    from dsportal.notebook.runner import run
    from dsportal.notebook.runs import attach, runs
    from dsportal.notebook.sweep import sweep
    from dsportal.notebook.sweep_handle import Sweep
    from dsportal.notebook.tensorboard import tensorboard
    from dsportal.worker.progress import report

__version__ = "0.1.0"
__all__ = [
    "LaunchError",
    "RankError",
    "Run",
    "SessionError",
    "StepError",
    "Sweep",
    "TensorBoardError",
    "UnaveragedError",
    "attach",
    "p2p",
    "report",
    "run",
    "runs",
    "sweep",
    "tensorboard",
]
# Read when they are asked for: hub, spawner and the start of each kernel need none of them, and a
# quarter of a second is much to a page.
_MODULES = {
    "Run": "notebook.handle",
    "Sweep": "notebook.sweep_handle",
    "attach": "notebook.runs",
    "p2p": "gpu_links",
    "report": "worker.progress",
    "run": "notebook.runner",
    "runs": "notebook.runs",
    "sweep": "notebook.sweep",
    "tensorboard": "notebook.tensorboard",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'errors')}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _offer_magic() -> None:
    # The kernel of a notebook has imported it; ranks and scripts do not need it.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None:
        return
    magic = f"{__name__}.notebook.magic"
    if hasattr(shell.magics_manager, "register_lazy"):
        shell.magics_manager.register_lazy("ranks", magic)
    else:
        # IPython before 7.32, such as Ubuntu 22.04's.
        import_module(magic).load_ipython_extension(shell)


# On import, so that `%%ranks` needs no %load_ext.
_offer_magic()
