"""Models of Keras in a pickle: what belongs to one stays a part of it.

Keras pickles each model, layer and optimizer as if it were alone: a layer that is a variable would
come apart from its model, and an optimizer would lose its state. Here they are looked up in the
restored model.

Source:
    Keras 3.15, `KerasSaveable.__reduce__`.
"""
# mypy: allow-untyped-defs, allow-untyped-calls

import contextlib
import inspect
import sys
import types
import warnings
from typing import Any

from .variable_words import CannotComeError

LOST_STATE = "Skipping variable loading"


def parts_of(user_ns):
    """Return the layers and optimizers of the models among the variables, `user_ns`.

    Returns:
        By their ids, a model that they are in, with the steps that lead to them; and the ids of
        models that share layers with another one and come after it.
    """
    keras: Any = sys.modules.get("keras")
    parts: Any = {}
    known: Any = {}
    apart = set()
    for model in list(user_ns.values()) if hasattr(keras, "Model") else ():
        if not isinstance(model, keras.Model) or id(model) in known:
            continue
        own = {id(part): (model, steps) for steps, part in walk(model, keras)}
        for other, others in known.values():
            if others.keys() & own.keys() and id(other) not in own and id(model) not in others:
                apart.add(id(model))
        if id(model) not in apart:
            known[id(model)] = (model, own)
            parts.update((part, where) for part, where in own.items() if part not in parts)
    return parts, apart


def walk(model, keras, steps=()):
    """Yield the parts of a `model` of `keras`, each with the `steps` to it."""
    if getattr(model, "optimizer", None) is not None:
        yield (*steps, "optimizer"), model.optimizer
    for number, layer in enumerate(model.layers):
        yield (*steps, number), layer
        if isinstance(layer, keras.Model):
            yield from walk(layer, keras, (*steps, number))


def reduce(value, parts, apart):
    """Return how `value`, of Keras, is made again, or None if Keras itself knows.

    The `parts`, and the models `apart`, are as `parts_of` returns them.

    Raises:
        CannotComeError: If it would come apart from what it belongs to, or Keras could not make it.
    """
    keras = sys.modules["keras"]
    if isinstance(value, keras.KerasTensor):
        history = getattr(value, "_keras_history", None)
        layer: Any = getattr(history, "operation", None)
        if id(layer) in parts and layer.output is value:
            return output_of, (layer,)
        raise CannotComeError("a tensor of no model that is a variable")
    if id(value) in apart:
        raise CannotComeError("it shares layers with another model")
    if id(value) in parts:
        return part_of, parts[id(value)]
    if isinstance(value, keras.optimizers.Optimizer) and value.built:
        raise CannotComeError("an optimizer of no model that is a variable")
    if isinstance(value, keras.Model):
        for _, part in walk(value, keras):
            check_class(type(part))
    check_class(type(value))
    return None


def check_class(kind):
    """Raise an error for a `kind` that Keras could not make again from its own arguments."""
    its_own = [one for one in kind.__mro__ if not one.__module__.startswith("keras.")]
    if kind not in its_own or any("get_config" in vars(one) for one in its_own):
        return
    parameters = inspect.signature(kind.__init__).parameters.values()
    if not any(one.kind is one.VAR_KEYWORD for one in parameters):
        raise CannotComeError("the __init__ of " + kind.__name__ + " takes no **kwargs of Keras's")


def part_of(model, steps):
    """Return the part of a `model` to which `steps` lead."""
    for step in steps:
        model = model.optimizer if step == "optimizer" else model.layers[step]
    return model


def output_of(layer):
    """Return the symbolic output of a layer."""
    return layer.output


@contextlib.contextmanager
def known_classes(user_ns):
    """Let Keras find what cells defined in `user_ns`, and lose no state in silence."""
    keras: Any = sys.modules.get("keras")
    own = {
        name: value
        for name, value in user_ns.items()
        if isinstance(value, (type, types.FunctionType)) and value.__module__ == "__main__"
    }
    registered = keras.saving.get_custom_objects() if hasattr(keras, "saving") else {}
    added = {name: value for name, value in own.items() if name not in registered}
    registered.update(added)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", LOST_STATE)
            yield
    finally:
        for name in added:
            registered.pop(name, None)
