"""What is in a model or table: layers, shapes, schema, first rows. Nothing in it is executed."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from portal.server.errors import PreviewError
from portal.server.files import parquet_rows
from portal.server.files.onnx_words import FileView, read_onnx
from portal.server.files.pickle_words import Call, Name, Stored, read_pickle

N_MOST_ROWS = 1000
_MOST_DESCRIPTION_BYTES = 16 * 1024 * 1024
_PARQUET_TIMEOUT_S = 30
_MOST_LEVELS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of a preview."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What is shown of a file: sentences and tables."""

    facts: Sequence[str]
    tables: Sequence[Table]

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Tensor:
    name: str
    kind: str
    shape: tuple[int, ...]


def preview(path: Path) -> Preview:
    """Return what is in a file.

    Raises:
        PreviewError: If it cannot be read, or is of no kind that can be shown.
    """
    read = _READERS.get(path.suffix.lower())
    if read is None:
        raise PreviewError(f"{path.name} has no preview: {', '.join(_READERS)} have one.")
    try:
        if not path.is_file():
            raise PreviewError(f"{path.name} is not there, or is no file.")
        return read(path)
    except OSError as error:
        raise PreviewError(f"{path.name} cannot be read: {error.strerror}.") from error
    # Of what is damaged or something else, zipfile and json raise these.
    except (
        *(ValueError, zipfile.BadZipFile, KeyError, IndexError, TypeError, AttributeError),
        RecursionError,
    ) as error:
        raise PreviewError(
            f"{path.name} is damaged, or not what its name says: {error}."
        ) from error


def _read_safetensors(path: Path) -> Preview:
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > _MOST_DESCRIPTION_BYTES:
            raise ValueError("its description is too long")
        header = json.loads(file.read(length))
    tensors = [
        _Tensor(name, str(entry["dtype"]).lower(), tuple(int(n) for n in entry["shape"]))
        for name, entry in header.items()
        if name != "__metadata__"
    ]
    return _of_tensors(tensors)


def _read_onnx(path: Path) -> Preview:
    with path.open("rb") as file:
        model = read_onnx(FileView(file.fileno(), 0, path.stat().st_size))
    operators = [[name, str(n)] for name, n in model.operators.most_common()]
    shown = _of_tensors([_Tensor(w.name, w.kind, w.shape) for w in model.weights])
    table = Table(title="Operators", columns=("operator", "times"), rows=operators)
    return Preview(facts=shown.facts, tables=(table, *shown.tables))


def _read_keras(path: Path) -> Preview:
    config = json.loads(_from_archive(path, "config.json"))
    metadata = json.loads(_from_archive(path, "metadata.json"))
    layers = config["config"].get("layers") or [config]
    rows = [
        [
            str(layer.get("config", {}).get("name", layer.get("name", ""))),
            str(layer.get("class_name", "")),
            str((layer.get("build_config") or {}).get("input_shape", "")),
        ]
        for layer in layers
    ]
    facts = (
        f"{config.get('class_name', 'A model')} with {len(rows)} layers, saved by Keras "
        f"{metadata.get('keras_version', 'of an unknown version')}."
    )
    table = Table(title="Layers", columns=("layer", "class", "input"), rows=rows[:N_MOST_ROWS])
    return Preview(facts=(facts,), tables=(table,))


def _read_pytorch(path: Path) -> Preview:
    if not zipfile.is_zipfile(path):
        raise ValueError("only the format of PyTorch 1.6 and newer has a preview")
    with zipfile.ZipFile(path) as archive:
        name = next(n for n in [*archive.namelist(), ""] if not n or n.endswith("/data.pkl"))
    described = read_pickle(_from_archive(path, name))
    return _of_tensors([*_tensors(described, "", set())])


def _tensors(value: Any, name: str, seen: set[int]) -> Iterator[_Tensor]:
    # What holds itself, or something that holds something twice, would have no end.
    if id(value) in seen or name.count(".") > _MOST_LEVELS:
        return
    if isinstance(value, (Call, dict, list, tuple)):
        seen.add(id(value))
    if isinstance(value, Call):
        if _is_tensor(value):
            yield _tensor(value, name)
            return
        function = value.function.text if isinstance(value.function, Name) else ""
        if function == "torch._utils._rebuild_parameter":
            yield from _tensors(value.arguments[0], name, seen)
            return
        yield from _tensors(value.items, name, seen)
        yield from _tensors(value.state, name, seen)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _tensors(item, f"{name}.{key}" if name else str(key), seen)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _tensors(item, f"{name}[{index}]", seen)


def _is_tensor(call: Call) -> bool:
    is_rebuilt = isinstance(call.function, Name) and "_rebuild_tensor" in call.function.text
    return is_rebuilt and isinstance(call.arguments[0], Stored)


def _tensor(call: Call, name: str) -> _Tensor:
    storage, _, shape = call.arguments[:3]
    # ("storage", torch.FloatStorage, key, device, number of elements)
    kind = storage.id[1].text.rpartition(".")[2].removesuffix("Storage").lower()
    return _Tensor(name, kind, tuple(int(n) for n in shape))


def _from_archive(path: Path, name: str) -> bytes:
    with zipfile.ZipFile(path) as archive, archive.open(name) as file:
        data = file.read(_MOST_DESCRIPTION_BYTES + 1)
    if len(data) > _MOST_DESCRIPTION_BYTES:
        raise ValueError("its description is too long")
    return data


def _of_tensors(tensors: Sequence[_Tensor]) -> Preview:
    if any(not 0 <= n < 2**63 for tensor in tensors for n in tensor.shape):
        raise ValueError("it has a tensor of an impossible shape")
    n_values = sum(math.prod(tensor.shape) for tensor in tensors)
    rows = [[t.name, t.kind, str([*t.shape])] for t in tensors[:N_MOST_ROWS]]
    more = len(tensors) - len(rows)
    noun = "tensor" if len(tensors) == 1 else "tensors"
    facts = [f"{len(tensors):,} {noun}, {n_values:,} values in all."]
    facts += [f"The first {len(rows):,} are shown."] if more else []
    table = Table(title="Tensors", columns=("name", "type", "shape"), rows=rows)
    return Preview(facts=facts, tables=(table,))


def _read_parquet(path: Path) -> Preview:
    python = next(iter(_pythons_with_pyarrow(Path(sys.prefix) / "share/jupyter/kernels")), None)
    if python is None:
        raise PreviewError(
            f"{path.name} cannot be shown: no kernel of this site has pyarrow, which reads Parquet."
        )
    # In a process of its own: neither its memory nor a crash is the notebook server's.
    program = Path(parquet_rows.__file__).read_text()
    try:
        done = subprocess.run(
            [str(python), "-I", "-c", program, str(path)],
            capture_output=True,
            text=True,
            timeout=_PARQUET_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise PreviewError(
            f"{path.name} was not read within {_PARQUET_TIMEOUT_S} seconds. Read it in a notebook: "
            "pandas.read_parquet."
        ) from error
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it gave no reason"])[-1]
        raise ValueError(last)
    return _of_parquet(json.loads(done.stdout))


def _of_parquet(read: Mapping[str, Any]) -> Preview:
    schema = Table(title="Columns", columns=("column", "type"), rows=read["schema"])
    rows = Table(
        title=f"First {len(read['rows'])} rows", columns=read["columns"], rows=read["rows"]
    )
    n_columns = len(read["schema"])
    facts = [f"{read['n_rows']:,} rows, {n_columns:,} columns; row groups: {read['n_groups']:,}."]
    if len(read["columns"]) < n_columns:
        facts.append(f"The rows show the first {len(read['columns'])} columns.")
    return Preview(facts=facts, tables=(rows, schema))


def _pythons_with_pyarrow(kernels: Path) -> Iterator[Path]:
    for file in sorted(kernels.glob("*/kernel.json")):
        python = Path(json.loads(file.read_text())["argv"][0])
        if python.name.startswith("python") and any(
            python.parent.parent.glob("lib/python3*/site-packages/pyarrow")
        ):
            yield python


_READERS: Mapping[str, Callable[[Path], Preview]] = {
    ".parquet": _read_parquet,
    ".safetensors": _read_safetensors,
    ".keras": _read_keras,
    ".pt": _read_pytorch,
    ".pth": _read_pytorch,
    ".onnx": _read_onnx,
}
