"""Prints the schema and the first rows of a Parquet file as JSON.

Its text is run by a kernel's Python, which has pyarrow and nothing of this project.
"""
# mypy: disable-error-code="import-not-found"

import json
import resource
import sys

N_ROWS = 100
N_COLUMNS = 50
N_SCHEMA = 1000
N_CHARACTERS = 200
# A file of a kilobyte may describe rows of gigabytes.
MEMORY_BYTES = 1024**3
NO_MEMORY = 3


def main(path: str) -> int:
    """Read the file `path`.

    Returns:
        NO_MEMORY if its first rows need more than MEMORY_BYTES.
    """
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    try:
        sys.stdout.write(json.dumps(read(path)))
    except MemoryError:
        return NO_MEMORY
    return 0


def read(path: str) -> dict[str, object]:
    """Return what is shown of the file `path`, as JSON values."""
    import pyarrow
    from pyarrow import parquet

    pyarrow.set_cpu_count(1)
    pyarrow.set_io_thread_count(1)
    with parquet.ParquetFile(path) as file:
        schema = file.schema_arrow
        columns = schema.names[:N_COLUMNS]
        batches = file.iter_batches(batch_size=N_ROWS, columns=columns, use_threads=False)
        rows: list[dict[str, object]] = next((batch.to_pylist() for batch in batches), [])
        fields = [schema.field(number) for number in range(min(len(schema), N_SCHEMA))]
        return {
            "n_rows": file.metadata.num_rows,
            "n_groups": file.metadata.num_row_groups,
            "n_columns": len(schema),
            "schema": [[_short(field.name), _short(field.type)] for field in fields],
            "columns": [_short(name) for name in columns],
            "rows": [[_short(row[name]) for name in columns] for row in rows],
        }


def _short(value: object) -> str:
    return str(value)[:N_CHARACTERS]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
