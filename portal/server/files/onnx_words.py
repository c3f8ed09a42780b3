"""Reads an ONNX model's operators and weights without its library: only names, types and shapes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

# The numbers of onnx.proto3 of ONNX 1.23: TensorProto.DataType.
_TYPES = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64",
    8: "string", 9: "bool", 10: "float16", 11: "float64", 12: "uint32", 13: "uint64",
    16: "bfloat16",
}  # fmt: skip
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_WINDOW_BYTES, _LONGEST_TEXT = 64 * 1024, 4096
_GRAPH, _NODE, _INITIALIZER, _OPERATOR = 7, 1, 5, 4
_DIMS, _DATA_TYPE, _NAME = 1, 2, 8


@dataclass(frozen=True, slots=True)
class Weights:
    """One tensor of weights."""

    name: str
    kind: str
    shape: tuple[int, ...]


@dataclass(slots=True)
class OnnxModel:
    """What a file says of its model."""

    operators: Counter[str] = field(default_factory=Counter)
    weights: list[Weights] = field(default_factory=list)


class FileView:
    """A part of an open file, read where it is looked at: the values of weights never are.

    Unlike a file that is mapped into memory, one that becomes shorter meanwhile is an error only.
    """

    def __init__(self, descriptor: int, begin: int, end: int) -> None:
        self._descriptor = descriptor
        self._begin = begin
        self._end = end
        self._window = b""
        self._window_at = 0

    def __len__(self) -> int:
        return self._end - self._begin

    def __bytes__(self) -> bytes:
        return os.pread(self._descriptor, min(len(self), _LONGEST_TEXT), self._begin)

    def byte(self, at: int) -> int:
        """Return one byte.

        Args:
            at: Bytes from the beginning of this part.

        Raises:
            ValueError: If the file has become shorter.
        """
        inner = at - self._window_at
        if not 0 <= inner < len(self._window):
            n_bytes = min(_WINDOW_BYTES, len(self) - at)
            self._window = os.pread(self._descriptor, n_bytes, self._begin + at)
            self._window_at, inner = at, 0
            if not self._window:
                raise ValueError("it is not complete")
        return self._window[inner]

    def part(self, begin: int, end: int) -> FileView:
        """Return a part of it.

        Args:
            begin: Bytes from the beginning of this part to its first byte.
            end: The same, to the byte after its last one.
        """
        found = FileView(self._descriptor, self._begin + begin, self._begin + end)
        found._window, found._window_at = self._window, self._window_at - begin
        return found


def read_onnx(data: FileView) -> OnnxModel:
    """Return the operators and weights of a model; the weights' values are skipped.

    Raises:
        ValueError: If it is no ONNX model.

    Source:
        Protocol Buffers, "Encoding"; onnx.proto3: ModelProto, GraphProto, NodeProto, TensorProto.
    """
    model = OnnxModel()
    for number, value in _fields(data):
        if number != _GRAPH or isinstance(value, int):
            continue
        for inner, part in _fields(value):
            if isinstance(part, int):
                continue
            if inner == _NODE:
                model.operators.update(_text(p) for n, p in _fields(part) if n == _OPERATOR)
            elif inner == _INITIALIZER:
                model.weights.append(_weights(part))
    if not model.operators:
        raise ValueError("it has no operators")
    return model


def _weights(data: FileView) -> Weights:
    name, kind = "", 0
    shape: list[int] = []
    for number, value in _fields(data):
        if number == _DIMS:
            shape += [value] if isinstance(value, int) else _packed(value)
        elif number == _DATA_TYPE and isinstance(value, int):
            kind = value
        elif number == _NAME:
            name = _text(value)
    return Weights(name, _TYPES.get(kind, f"type {kind}"), tuple(shape))


def _text(value: int | FileView) -> str:
    return "" if isinstance(value, int) else bytes(value).decode(errors="replace")


def _packed(data: FileView) -> Iterator[int]:
    at = 0
    while at < len(data):
        value, at = _varint(data, at)
        yield value


def _fields(data: FileView) -> Iterator[tuple[int, int | FileView]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        if wire == _BYTES:
            length, at = _varint(data, at)
        elif wire in {_FIXED64, _FIXED32}:
            length = 8 if wire == _FIXED64 else 4
        else:
            raise ValueError("it is not in the format of ONNX")
        if at + length > len(data):
            raise ValueError("it is not complete")
        yield number, data.part(at, at + length)
        at += length


def _varint(data: FileView, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 64:
        if at >= len(data):
            raise ValueError("it is not complete")
        byte = data.byte(at)
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError("it is not in the format of ONNX")
