"""How far a notebook is: its cells as steps of the run, in the log and in the run's folder."""

from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

import nbformat

from dsportal.errors import LaunchError
from dsportal.task.folder import RunFolder
from dsportal.task.throughput import Throughput

_INJECTED = "injected-parameters"


class CellProgress:
    """Follows the cells of a notebook; what has no code counts nothing.

    Attributes:
        number: The cell that runs, or ran last, from 1; as Jupyter numbers it.
    """

    def __init__(self, folder: RunFolder, n_cells: int, log: TextIO) -> None:
        self._folder = folder
        self._log = log
        self.n_cells = n_cells
        self.number = 0
        self.first_line = ""

    def begin(self, cell: Any, **_: object) -> None:
        """Note that a `cell` starts, one of text too."""
        if has_code(cell):
            self.number += 1
            self.first_line = cell.source.strip().splitlines()[0]
            self._log.write(f"[{self.number}/{self.n_cells}] {self.first_line}\n")
            self._log.flush()

    def end(self, **_: object) -> None:
        """Note that a cell has ended, or failed."""
        pace = Throughput(
            step=self.number,
            n_steps=self.n_cells,
            images_per_s=0.0,
            loss=None,
            behind=(0,),
            silent_s=(0.0,),
        )
        # Progress must not end a notebook.
        with suppress(OSError):
            self._folder.write_throughput(pace)


def has_code(cell: Any) -> bool:
    """Return whether a `cell` of nbformat is run: not if it is text, or empty."""
    return bool(cell.cell_type == "code" and cell.source.strip())


def count_cells(notebook: Path, *, has_parameters: bool) -> int:
    """Return how many cells of a notebook will run; parameters come in a cell of their own.

    Raises:
        LaunchError: If it is no notebook.
    """
    try:
        cells = nbformat.read(notebook, as_version=4).cells
    # nbformat has an error of its own for each version and fault.
    except Exception as error:
        raise LaunchError(f"{notebook} is no notebook that Jupyter reads ({error}).") from error
    has_cell = any(_INJECTED in cell.metadata.get("tags", []) for cell in cells)
    return sum(map(has_code, cells)) + (has_parameters and not has_cell)


def last_output(notebook: Any) -> str:
    """Return the text of the last result of an executed `notebook` of nbformat, or ""."""
    outputs = [each for cell in notebook.cells for each in cell.get("outputs", [])]
    results = [each for each in outputs if each.output_type == "execute_result"]
    return str(results[-1].data.get("text/plain", "")) if results else ""
