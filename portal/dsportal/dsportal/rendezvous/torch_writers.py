"""PyTorch's TensorBoard writers of this process, for what `report` logs."""

import functools
import weakref
from types import ModuleType
from typing import Any

# The newest last; those that are gone or closed are dropped when they are met.
_writers: list[weakref.ref[Any]] = []


def remember_writers(module: ModuleType) -> None:
    """Have each SummaryWriter that is made remembered.

    Args:
        module: torch.utils.tensorboard.writer.
    """
    stock_init = module.SummaryWriter.__init__

    @functools.wraps(stock_init)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        stock_init(self, *args, **kwargs)
        _writers.append(weakref.ref(self))

    module.SummaryWriter.__init__ = init


def newest_writer() -> Any:
    """Return the newest SummaryWriter that is open; None if there is none.

    Source:
        PyTorch: `SummaryWriter.close` sets `all_writers` to None.
    """
    while _writers:
        writer = _writers[-1]()
        if writer is not None and writer.all_writers is not None:
            return writer
        _writers.pop()
    return None
