"""An ONNX model, from bytes as protobuf writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from portal.server.files.onnx_words import FileView, OnnxModel, Weights, read_onnx


def number(value: int) -> bytes:
    found = b""
    while value >= 0x80:
        found += bytes([value & 0x7F | 0x80])
        value >>= 7
    return found + bytes([value])


def field(index: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return number(index << 3) + number(value)
    return number(index << 3 | 2) + number(len(value)) + value


def node(operator: bytes) -> bytes:
    return field(1, field(1, b"x") + field(2, b"y") + field(4, operator))


WEIGHTS = field(5, field(1, 4) + field(1, 300) + field(2, 10) + field(8, b"W") + field(9, b"\xff"))
PACKED = field(5, field(1, number(7) + number(2)) + field(2, 99) + field(8, "ü".encode()))
MODEL = field(1, 9) + field(2, b"by hand")


def read(folder: Path, data: bytes) -> OnnxModel:
    path = folder / "m.onnx"
    path.write_bytes(data)
    with path.open("rb") as file:
        return read_onnx(FileView(file.fileno(), 0, len(data)))


def test_operators_are_counted_and_weights_have_shapes(tmp_path: Path) -> None:
    graph = node(b"MatMul") + node(b"Relu") + node(b"MatMul") + WEIGHTS + PACKED

    model = read(tmp_path, MODEL + field(7, graph))

    assert model.operators == {"MatMul": 2, "Relu": 1}
    assert model.weights == [
        Weights("W", "float16", (4, 300)),
        Weights("ü", "type 99", (7, 2)),
    ]


def test_weights_of_many_megabytes_are_skipped(tmp_path: Path) -> None:
    large = field(5, field(1, 9) + field(9, bytes(3_000_000)) + field(8, b"large"))

    model = read(tmp_path, MODEL + field(7, large + node(b"Relu")))

    assert [weights.name for weights in model.weights] == ["large"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hello, this is a text",
        MODEL,
        (MODEL + field(7, node(b"Relu") + WEIGHTS))[:-1],
        b"\xff" * 20,
        number(7 << 3 | 3),
    ],
)
def test_what_is_no_model_is_an_error(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(ValueError, match="it "):
        read(tmp_path, data)
