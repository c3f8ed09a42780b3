"""Reads what a pickle describes without executing it: no import, no call, no object is made.

A PyTorch checkpoint is a zip archive with a pickle. Unpickling runs whatever code its author wants,
so this interprets its instructions with inert values.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_MARK = object()
_LITERALS = {
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "SHORT_BINUNICODE", "BINUNICODE"),
    *("BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
}
_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": tuple,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "EMPTY_SET": list,
}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


@dataclass(frozen=True, slots=True)
class Name:
    """Something that unpickling would import."""

    text: str


@dataclass(slots=True)
class Call:
    """Something that unpickling would call, with what it would set on the result."""

    function: Any
    arguments: Any
    items: dict[Any, Any] = field(default_factory=dict)
    state: Any = None


@dataclass(frozen=True, slots=True)
class Stored:
    """Something that lies beside the pickle."""

    id: Any


def read_pickle(data: bytes) -> Any:
    """Return what a pickle describes, made of plain values, `Name`, `Call` and `Stored`.

    Raises:
        ValueError: If it is no pickle, or uses instructions that checkpoints do not.

    Source:
        pickletools of Python 3.11, the description of each opcode.
    """
    machine = _Machine()
    try:
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name == "STOP":
                return machine.stack[-1]
            machine.step(opcode.name, argument)
    except (IndexError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"its description cannot be read: {error!r}") from error
    raise ValueError("its description has no end")


class _Machine:
    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def step(self, name: str, argument: Any) -> None:
        if name in {"PROTO", "FRAME"}:
            return
        if name in _LITERALS:
            self.stack.append(argument)
        elif name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name]())
        elif name in _TUPLES:
            n = _TUPLES[name]
            self.stack[-n:] = [tuple(self.stack[-n:])]
        else:
            step = getattr(self, f"_do_{name.lower()}", None)
            if step is None:
                raise ValueError(f"it uses {name}, which checkpoints do not need")
            step(argument)

    def _since_mark(self) -> list[Any]:
        at = len(self.stack) - 1
        while self.stack[at] is not _MARK:
            at -= 1
        found = self.stack[at + 1 :]
        del self.stack[at:]
        return found

    def _do_mark(self, _: Any) -> None:
        self.stack.append(_MARK)

    def _do_tuple(self, _: Any) -> None:
        self.stack.append(tuple(self._since_mark()))

    def _do_list(self, _: Any) -> None:
        self.stack.append(self._since_mark())

    def _do_dict(self, _: Any) -> None:
        self.stack.append({})
        self._put(self._since_mark())

    def _do_append(self, _: Any) -> None:
        value = self.stack.pop()
        self._extend([value])

    def _do_appends(self, _: Any) -> None:
        self._extend(self._since_mark())

    _do_additems = _do_appends

    def _extend(self, values: list[Any]) -> None:
        if isinstance(self.stack[-1], list):
            self.stack[-1].extend(values)

    def _do_setitem(self, _: Any) -> None:
        pair = self.stack[-2:]
        del self.stack[-2:]
        self._put(pair)

    def _do_setitems(self, _: Any) -> None:
        self._put(self._since_mark())

    def _put(self, pairs: list[Any]) -> None:
        target = self.stack[-1]
        items = target.items if isinstance(target, Call) else target
        for key, value in zip(pairs[::2], pairs[1::2], strict=True):
            items[key if isinstance(key, (str, int)) else f"item {len(items)}"] = value

    def _do_global(self, argument: str) -> None:
        self.stack.append(Name(argument.replace(" ", ".")))

    def _do_stack_global(self, _: Any) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self.stack.append(Name(f"{module}.{name}"))

    def _do_reduce(self, _: Any) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        self.stack.append(Call(function, arguments))

    _do_newobj = _do_reduce

    def _do_build(self, _: Any) -> None:
        state = self.stack.pop()
        if isinstance(self.stack[-1], Call):
            self.stack[-1].state = state

    def _do_binpersid(self, _: Any) -> None:
        self.stack.append(Stored(self.stack.pop()))

    def _do_pop(self, _: Any) -> None:
        self.stack.pop()

    def _do_dup(self, _: Any) -> None:
        self.stack.append(self.stack[-1])

    def _do_memoize(self, _: Any) -> None:
        self.memo[len(self.memo)] = self.stack[-1]

    def _do_put(self, argument: int) -> None:
        self.memo[argument] = self.stack[-1]

    _do_binput = _do_long_binput = _do_put

    def _do_get(self, argument: int) -> None:
        self.stack.append(self.memo[argument])

    _do_binget = _do_long_binget = _do_get
