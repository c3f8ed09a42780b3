"""What is in a Parquet file: schema and first rows."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dsportal.slurm.errors import PortalError
from portal.server.base import parquet_rows

_TIMEOUT_S = 30
# Else each of its threads would reserve memory, as many as the node has cores.
_VARIABLES = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"}
_PARQUET = ".parquet"
_MODELS = frozenset({".keras", ".onnx", ".pt", ".pth", ".safetensors"})


class PreviewError(PortalError):
    """A file cannot be shown; the text says why."""

    http_status = 422


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


def check_kind(name: str) -> None:
    """Check that files with such a name have a preview."""
    suffix = Path(name).suffix.lower()
    if suffix in _MODELS:
        raise PreviewError(
            f"{name} is a model, which has no preview. Load it in a cell, or download it and open"
            " it in Netron: choose that under “Web tools” in the launcher, if your site has it."
        )
    if suffix != _PARQUET:
        raise PreviewError(f"{name} has no preview: {_PARQUET} has one.")


def preview(path: Path) -> Preview:
    """Return what is in a file."""
    check_kind(path.name)
    try:
        if not path.is_file():
            raise PreviewError(f"{path.name} is not there, or is no file.")
        return _of_parquet(_read_parquet(path))
    except OSError as error:
        raise PreviewError(f"{path.name} cannot be read: {error.strerror}.") from error


def _read_parquet(path: Path) -> Mapping[str, Any]:
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
            env={**os.environ, **_VARIABLES},
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise PreviewError(
            f"{path.name} was not read within {_TIMEOUT_S} seconds. Read it in a notebook: "
            "pandas.read_parquet."
        ) from error
    # A negative one is a signal: pyarrow aborts where it does not expect to get no memory.
    if done.returncode < 0 or done.returncode == parquet_rows.NO_MEMORY:
        gib = parquet_rows.MEMORY_BYTES // 1024**3
        raise PreviewError(
            f"{path.name} has no preview: its first {parquet_rows.N_ROWS} rows do not fit into"
            f" {gib} GiB of memory. Read a part of it in a notebook: pyarrow.parquet.ParquetFile."
        )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it gave no reason"])[-1]
        raise PreviewError(f"{path.name} is damaged, or not what its name says: {last}.")
    read: dict[str, Any] = json.loads(done.stdout)
    return read


def _of_parquet(read: Mapping[str, Any]) -> Preview:
    schema = Table(title="Columns", columns=("column", "type"), rows=read["schema"])
    rows = Table(
        title=f"First {len(read['rows'])} rows", columns=read["columns"], rows=read["rows"]
    )
    n_columns = read["n_columns"]
    facts = [f"{read['n_rows']:,} rows, {n_columns:,} columns; row groups: {read['n_groups']:,}."]
    if len(read["columns"]) < n_columns:
        facts.append(f"The rows show the first {len(read['columns'])} columns.")
    if len(read["schema"]) < n_columns:
        facts.append(f"The columns are the first {len(read['schema']):,}.")
    return Preview(facts=facts, tables=(rows, schema))


def _pythons_with_pyarrow(kernels: Path) -> Iterator[Path]:
    for file in sorted(kernels.glob("*/kernel.json")):
        python = Path(json.loads(file.read_text())["argv"][0])
        if python.name.startswith("python") and any(
            python.parent.parent.glob("lib/python3*/site-packages/pyarrow")
        ):
            yield python
