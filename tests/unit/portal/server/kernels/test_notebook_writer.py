"""When outputs are saved into notebooks, with the contents manager that Jupyter has."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from portal.server.kernels.execution import Execution
from portal.server.kernels.executions import Executions
from portal.server.kernels.notebook_writer import NotebookWriter, write_outputs


class Watch:
    """Stands for the watch of one kernel."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.executions = Executions(lambda: self.now_s)
        self.executions.open_tab("tab")
        self.executions.send(Execution(id="e1", tab="tab", cell_id="c1", code="train()"))
        self.executions.publish("e1", "status", {"execution_state": "busy"}, {})
        self.executions.publish("e1", "execute_input", {"execution_count": 1}, {})

    def all_executions(self) -> dict[str, Executions]:
        return {"k1": self.executions}

    def say(self, text: str) -> None:
        self.executions.publish("e1", "stream", {"name": "stdout", "text": text}, {})


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("train()", id="c1")]), path)
    return path


def writer(watch: Watch, path: Path, notebook: str = "a.ipynb") -> NotebookWriter:
    async def notebook_of(_: str) -> str:
        return notebook

    contents = AsyncLargeFileManager(root_dir=str(path.parent))
    stand_in: Any = watch
    return NotebookWriter(stand_in, notebook_of, contents, logging.getLogger("test"))


def shown(path: Path) -> str:
    return "".join(output.text for output in nbformat.read(path, 4).cells[0].outputs)


def test_a_notebook_is_written_once_its_page_has_been_gone_for_a_while(
    watch: Watch, path: Path
) -> None:
    subject = writer(watch, path)
    watch.say("epoch 1\n")
    asyncio.run(subject.write(away_s=600))
    assert shown(path) == ""
    watch.executions.close_tab("tab")
    watch.now_s = 599
    asyncio.run(subject.write(away_s=600))
    assert shown(path) == ""
    watch.now_s = 600
    asyncio.run(subject.write(away_s=600))
    assert shown(path) == "epoch 1\n"


def test_a_notebook_is_written_again_only_if_there_is_more(watch: Watch, path: Path) -> None:
    subject = writer(watch, path)
    watch.say("epoch 1\n")
    asyncio.run(subject.write())
    path.write_text(path.read_text().replace("epoch 1", "changed by somebody"))
    asyncio.run(subject.write())
    assert shown(path) == "changed by somebody\n"
    watch.say("epoch 2\n")
    asyncio.run(subject.write())
    assert shown(path) == "epoch 1\nepoch 2\n"


def test_the_next_page_is_not_told_again_what_the_notebook_has(watch: Watch, path: Path) -> None:
    subject = writer(watch, path)
    watch.executions.close_tab("tab")
    watch.executions.publish("e1", "status", {"execution_state": "idle"}, {})
    asyncio.run(subject.write())
    (listed,) = watch.executions.as_json()
    assert not listed["is_missed"]
    assert nbformat.read(path, 4).cells[0].execution_count == listed["execution_count"]


def test_a_notebook_that_is_gone_does_not_stop_the_end(
    watch: Watch, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.unlink()
    watch.say("epoch 1\n")
    asyncio.run(writer(watch, path).stop())
    assert "were not saved" in caplog.text
    assert not path.exists()


def test_a_console_has_no_notebook(watch: Watch, path: Path) -> None:
    watch.say("epoch 1\n")
    asyncio.run(writer(watch, path, "console-1").stop())
    assert shown(path) == ""


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
