"""Pickles variables of a notebook: what cells define goes by value, and sees the variables there.

What would come back as something else raises an error.
"""
# mypy: allow-untyped-defs, allow-untyped-calls

import functools
import io
import pickle
import sys
import types

from . import keras_parts, torch_storage
from .variable_words import CannotComeError

CACHED = type(functools.lru_cache()(lambda: None))


class Namespace:
    """Stands in a pickle for the variables of the notebook."""

    def __reduce__(self):
        """Become those of the notebook there."""
        return namespace, ()


def namespace():
    """Return the variables of the notebook."""
    from IPython import get_ipython

    return get_ipython().user_ns


def pickler_of(writer, user_ns):
    """Return what pickles the variables of a notebook, `user_ns`, to a `writer`.

    Source:
        cloudpickle 3.1, `Pickler._dynamic_function_reduce`.
    """
    import cloudpickle

    parts, apart = keras_parts.parts_of(user_ns)

    class Pickler(cloudpickle.Pickler):
        def __init__(self):
            super().__init__(writer, protocol=pickle.HIGHEST_PROTOCOL)
            self.copies = []

        def reducer_override(self, value):
            refuse(value)
            kind = type(value)
            if kind is types.FunctionType and value.__globals__ is user_ns:
                make, arguments, state, *others = super().reducer_override(value)
                arguments = (arguments[0], Namespace(), *arguments[2:])
                # They are variables themselves.
                return (make, arguments, (state[0], {**state[1], "__globals__": {}}), *others)
            if kind is CACHED and value.__module__ == "__main__":
                return cached, (value.__wrapped__, value.cache_info().maxsize)
            if kind.__module__ == "torch.storage":
                return torch_storage.reduce(value, self.copies)
            if kind.__module__ == "torch.utils.data.dataloader" and hasattr(value, "_iterator"):
                return torch_storage.reduce_loader(value)
            if "keras" in sys.modules and is_of_keras(kind):
                return keras_parts.reduce(value, parts, apart) or super().reducer_override(value)
            return super().reducer_override(value)

        def release(self):
            """Let go of the copies of what is on a GPU."""
            while self.copies:
                self.copies.pop().release()

    return Pickler()


def is_of_keras(kind):
    """Return whether a `kind` is one of Keras's classes, or made from one."""
    return any(one.__module__.startswith("keras.") for one in kind.__mro__)


def cached(function, maxsize):
    """Return a `function` that caches `maxsize` results, as `functools.lru_cache` makes it."""
    return functools.lru_cache(maxsize)(function)


def refuse(value):
    """Raise an error for a `value` that a pickle would make something else of."""
    if isinstance(value, io.IOBase) and not isinstance(value, (io.BytesIO, io.StringIO)):
        raise CannotComeError("it holds an open file")
    if type(value).__name__ == "memmap" and type(value).__module__.startswith("numpy"):
        raise CannotComeError("an array in a file")
