"""Prints the schema and the first rows of a Parquet file as JSON.

Its text is run by a kernel's Python, which has pyarrow and nothing of this project.
"""
# mypy: disable-error-code="import-not-found"

import json
import sys

N_ROWS = 100
N_COLUMNS = 50
N_CHARACTERS = 200


def main(path: str) -> None:
    """Read the file `path`."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        schema = file.schema_arrow
        columns = schema.names[:N_COLUMNS]
        batches = file.iter_batches(batch_size=N_ROWS, columns=columns)
        rows: list[dict[str, object]] = next((batch.to_pylist() for batch in batches), [])
        answer = {
            "n_rows": file.metadata.num_rows,
            "n_groups": file.metadata.num_row_groups,
            "schema": [[field.name, str(field.type)] for field in schema],
            "columns": columns,
            "rows": [[str(row[name])[:N_CHARACTERS] for name in columns] for row in rows],
        }
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main(sys.argv[1])
