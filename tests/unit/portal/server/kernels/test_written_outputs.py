"""What cells showed without a page, in their notebook."""

from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from portal.server.kernels.execution import Execution
from portal.server.kernels.executions import Executions
from portal.server.kernels.written_outputs import write_outputs

CODE = "train()"


def notebook(**changes: Any) -> NotebookNode:
    old = [new_output("stream", text="of yesterday\n")]
    cell = new_code_cell(CODE, outputs=old, execution_count=9, **changes)
    return new_notebook(cells=[new_markdown_cell("# Training"), cell])


def executed(*messages: tuple[str, dict[str, Any]], cell_id: str = "c1") -> Executions:
    executions = Executions()
    executions.send(Execution(id="e1", tab="tab", cell_id=cell_id, code=CODE))
    executions.publish("e1", "status", {"execution_state": "busy"}, {})
    executions.publish("e1", "execute_input", {"execution_count": 3}, {})
    for kind, content in messages:
        executions.publish("e1", kind, content, {})
    return executions


def stream(text: str, name: str = "stdout") -> tuple[str, dict[str, Any]]:
    return "stream", {"name": name, "text": text}


def end(executions: Executions) -> None:
    executions.publish("e1", "status", {"execution_state": "idle"}, {})


def write(book: NotebookNode, executions: Executions) -> NotebookNode:
    write_outputs(book, executions.list_executions())
    nbformat.validate(book)
    return book.cells[1]


def test_a_cell_that_ended_without_a_page_has_its_output() -> None:
    value = {"data": {"text/plain": "0.98"}, "metadata": {}, "execution_count": 3}
    executions = executed(stream("epoch 1\n"), ("execute_result", value))
    end(executions)
    cell = write(notebook(id="c1"), executions)
    assert [output.output_type for output in cell.outputs] == ["stream", "execute_result"]
    assert cell.outputs[0].text == "epoch 1\n"
    assert cell.execution_count == 3
    assert cell.metadata.trusted


def test_a_cell_that_runs_has_what_it_showed_so_far() -> None:
    cell = write(notebook(id="c1"), executed(stream("epoch 1\n")))
    assert [output.text for output in cell.outputs] == ["epoch 1\n"]


def test_text_that_a_page_took_in_pieces_is_one_output() -> None:
    executions = executed(stream("epoch 1\n"))
    executions.as_json()
    executions.publish("e1", *stream("epoch 2\n"), {})
    executions.publish("e1", *stream("late\n", "stderr"), {})
    cell = write(notebook(id="c1"), executions)
    assert [output.text for output in cell.outputs] == ["epoch 1\nepoch 2\n", "late\n"]


def test_a_progress_bar_is_as_it_was_last_drawn() -> None:
    bar = {"data": {"text/plain": "0 %"}, "metadata": {}, "transient": {"display_id": "bar"}}
    full = {**bar, "data": {"text/plain": "100 %"}}
    executions = executed(stream("a\n"), ("display_data", bar), ("update_display_data", full))
    cell = write(notebook(id="c1"), executions)
    assert cell.outputs[1].data == {"text/plain": "100 %"}


def test_cleared_output_is_not_written() -> None:
    executions = executed(stream("a\n"), ("clear_output", {"wait": True}), stream("b\n"))
    assert [output.text for output in write(notebook(id="c1"), executions).outputs] == ["b\n"]


def test_output_that_a_page_has_shown_is_left_to_the_page() -> None:
    executions = executed(stream("epoch 1\n"))
    executions.open_tab("tab")
    end(executions)
    cell = write(notebook(id="c1"), executions)
    assert cell.outputs[0].text == "of yesterday\n"


def test_a_cell_that_never_ran_keeps_its_output() -> None:
    executions = Executions()
    executions.send(Execution(id="e1", tab="tab", cell_id="c1", code=CODE))
    assert write_outputs(notebook(id="c1"), executions.list_executions()) == []
    # Behind a cell that failed.
    end(executions)
    assert write_outputs(notebook(id="c1"), executions.list_executions()) == []


def test_output_of_other_code_is_not_written_beside_a_changed_cell() -> None:
    executions = executed(stream("epoch 1\n"))
    end(executions)
    book = notebook(id="c1")
    book.cells[1].source = "train(epochs=2)"
    assert write_outputs(book, executions.list_executions()) == []


def test_a_cell_without_a_lasting_id_is_known_by_its_code() -> None:
    cell = write(notebook(id="of-the-file"), executed(stream("epoch 1\n"), cell_id="of-the-page"))
    assert cell.outputs[0].text == "epoch 1\n"


def test_a_message_without_what_the_protocol_requires_is_left_out() -> None:
    executions = executed(("display_data", {"data": {}}), stream("epoch 1\n"))
    cell = write(notebook(id="c1"), executions)
    assert [output.text for output in cell.outputs] == ["epoch 1\n"]
