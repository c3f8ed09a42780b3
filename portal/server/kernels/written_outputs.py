"""Puts what cells showed into a notebook, as a page would have saved it.

Pure logic, without a server.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from nbclient import NotebookClient
from nbformat import NotebookNode

from portal.server.kernels.execution import CellState, Execution


def write_outputs(notebook: NotebookNode, executions: Iterable[Execution]) -> list[Execution]:
    """Replace the outputs of the cells that were executed.

    Args:
        notebook: A notebook of format 4, changed in place.
        executions: In the order in which they were sent.

    Returns:
        Those that were written: the ones that run, or ended while no page was there to show it.
    """
    # Only its reading of messages is used; it starts no kernel.
    reader = NotebookClient(notebook)
    written = []
    for execution in executions:
        index = _index_of(notebook, execution)
        if index is None or not _is_unseen(execution):
            continue
        cell = notebook.cells[index]
        cell.outputs = []
        # An earlier cell may have ended with clear_output(wait=True).
        reader.clear_before_next_output = False
        execution.end()
        for message in execution.outputs()[0]:
            # Some kernels leave out what the protocol requires; one such message is not the cell.
            with suppress(KeyError):
                reader.process_message(_as_received(message), cell, index)
        cell.execution_count = execution.n_execution
        # It came from this user's own kernel, which is what makes output trusted.
        cell.metadata["trusted"] = True
        written.append(execution)
    for cell in notebook.cells:
        # Last, since display ids count the outputs.
        if cell.cell_type == "code":
            cell.outputs = _joined(cell.outputs)
    return written


def _index_of(notebook: NotebookNode, execution: Execution) -> int | None:
    cells = [(i, cell) for i, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    alike = [(i, cell) for i, cell in cells if cell.source == execution.code]
    # Output of what has ended belongs to the code that it came from.
    for i, cell in alike if execution.state is CellState.DONE else cells:
        if cell.get("id") == execution.cell_id:
            return i
    # Notebooks of older formats have no lasting ids.
    return alike[0][0] if len(alike) == 1 else None


def _is_unseen(execution: Execution) -> bool:
    if execution.state is CellState.DONE:
        # Without a number it never ran, behind one that failed.
        return execution.is_missed and execution.n_execution is not None
    return execution.state is CellState.RUNNING


def _as_received(message: dict[str, Any]) -> dict[str, Any]:
    header = {"msg_type": message["msg_type"]}
    return {**message, "header": header, "parent_header": {}}


def _joined(outputs: list[NotebookNode]) -> list[NotebookNode]:
    joined: list[NotebookNode] = []
    for output in outputs:
        last = joined[-1] if joined else NotebookNode(output_type="")
        are_streams = last.output_type == output.output_type == "stream"
        if are_streams and last.name == output.name:
            last.setdefault("pieces", [last.text]).append(output.text)
        else:
            joined.append(output)
    for output in joined:
        # Joined once, since text that is made longer piece by piece takes ever longer.
        if pieces := output.pop("pieces", None):
            output.text = "".join(pieces)
    return joined
