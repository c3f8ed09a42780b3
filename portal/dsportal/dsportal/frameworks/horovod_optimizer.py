"""A Keras 3 optimizer that averages gradients over the ranks; reached through `horovod_keras`."""

from collections.abc import Sequence
from typing import Any

import horovod.tensorflow as _hvd
import keras
import tensorflow as tf

from dsportal.errors import LaunchError, UnaveragedError


class _Averaging:
    """Mixin for a Keras optimizer: averages gradients over the ranks before they are applied."""

    _portal_compression: Any = _hvd.Compression.none
    _portal_op: Any = _hvd.Average

    def apply(self, grads: Sequence[Any], trainable_variables: Any = None) -> Any:
        """Average the gradients over all ranks, then apply them as the optimizer does.

        Args:
            grads: One gradient for each variable; None for a variable without one.
            trainable_variables: None if the optimizer is built.
        """
        averaged = _average(list(grads), op=self._portal_op, compression=self._portal_compression)
        return super().apply(averaged, trainable_variables)  # type: ignore[misc]


def DistributedOptimizer(  # noqa: N802
    optimizer: keras.optimizers.Optimizer,
    *,
    compression: Any = _hvd.Compression.none,
    op: Any = _hvd.Average,
) -> keras.optimizers.Optimizer:
    """Make an optimizer average gradients over all ranks.

    Clipping, weight decay and gradient accumulation of the optimizer come after the averaging, so
    that N ranks do what one process does with the batches of all of them.

    Args:
        optimizer: A Keras 3 optimizer, new or with state. For mixed precision a LossScaleOptimizer
            around the real one.
        compression: Compression.none or Compression.fp16: how gradients are sent.
        op: Average or Sum.

    Returns:
        The same object, now of a subclass of its class. Models saved with it load as with the stock
        optimizer.

    Raises:
        LaunchError: If it is no Keras 3 optimizer, or averages already.

    Source:
        Keras 3.15, BaseOptimizer.apply: all gradients pass through it.
    """
    if isinstance(optimizer, _Averaging):
        raise LaunchError("This optimizer averages already. Wrap it in DistributedOptimizer once.")
    if not isinstance(optimizer, keras.optimizers.Optimizer):
        raise LaunchError(
            f"DistributedOptimizer takes a Keras optimizer and got {type(optimizer).__name__}. "
            "Give it an object such as keras.optimizers.Adam(1e-3)."
        )
    stock = type(optimizer)
    # A saved model names the class of its optimizer; with the stock name it loads anywhere.
    names = keras.saving.serialize_keras_object(optimizer)
    averaging = type(stock.__name__, (_Averaging, stock), {"__module__": names["module"]})
    # In place, so that an optimizer with a state keeps it.
    object.__setattr__(optimizer, "__class__", averaging)
    object.__setattr__(optimizer, "_portal_compression", compression)
    object.__setattr__(optimizer, "_portal_op", op)
    return optimizer


def check_optimizer(model: keras.Model) -> None:
    """Refuse a model that would train without averaging, or could not train.

    Raises:
        UnaveragedError: If there are several ranks and its optimizer is not a DistributedOptimizer
            of this module, or a LossScaleOptimizer wraps one.
        LaunchError: If the model was compiled with XLA, which cannot run Horovod's operations.
    """
    if _hvd.size() == 1:
        return
    optimizer = model.optimizer
    if isinstance(getattr(optimizer, "inner_optimizer", None), _Averaging):
        raise UnaveragedError(
            "Mixed precision put a LossScaleOptimizer around DistributedOptimizer, and ranks could "
            "then skip different steps. Write DistributedOptimizer(LossScaleOptimizer(Adam(...)))."
        )
    if not isinstance(optimizer, _Averaging):
        raise UnaveragedError(
            f"{_hvd.size()} ranks would train with {type(optimizer).__name__}, which does not "
            "average gradients. Compile the model with hvd.DistributedOptimizer(...) of "
            "dsportal.horovod_keras."
        )
    # Keras compiles for XLA by itself where it can, so users need not have asked for it.
    if model.jit_compile:
        raise LaunchError(
            "The model was compiled for XLA, which cannot run Horovod's operations. Add "
            "jit_compile=False to model.compile."
        )


def _average(gradients: list[Any], *, op: Any, compression: Any) -> list[Any]:
    if not _hvd.is_initialized():
        raise LaunchError("Horovod is not started. Call hvd.init() at the start of the function.")
    if _hvd.size() == 1:
        return gradients
    result = list(gradients)
    dense = [
        place
        for place, gradient in enumerate(gradients)
        if gradient is not None and not isinstance(gradient, tf.IndexedSlices)
    ]
    if dense:
        # As a group: all ranks then reduce the same gradients in the same order, as one operation.
        averaged = _hvd.grouped_allreduce(
            [gradients[place] for place in dense], op=op, compression=compression
        )
        for place, gradient in zip(dense, averaged, strict=True):
            result[place] = gradient
    for place, gradient in enumerate(gradients):
        # Sparse rows of an embedding are gathered, not summed, so they cannot join the group.
        if isinstance(gradient, tf.IndexedSlices):
            result[place] = _hvd.allreduce(gradient, op=op, compression=compression)
    return result
