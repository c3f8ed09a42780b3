"""When outputs are saved into notebooks, with the contents manager that Jupyter has."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from nbformat.v4 import new_code_cell, new_notebook

from portal.server.kernels.execution import Execution
from portal.server.kernels.executions import Executions
from portal.server.kernels.notebook_writer import NotebookWriter


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


def test_the_end_of_a_session_writes_although_a_page_is_there(watch: Watch, path: Path) -> None:
    watch.say("epoch 1\n")
    asyncio.run(writer(watch, path).stop())
    assert shown(path) == "epoch 1\n"


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
