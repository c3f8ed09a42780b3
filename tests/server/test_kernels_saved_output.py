"""What cells show after their page is gone, in the notebooks of a real server that ends."""

import json
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from tests.support.eventually import eventually
from tests.support.kernels import ask, leave_after
from tests.support.notebook_server import NotebookServer

CODE = """import pathlib, time
print("epoch 1", flush=True)
while not pathlib.Path("go").exists():
    time.sleep(0.05)
print("epoch 2", flush=True)
time.sleep(600)"""


@pytest.fixture
def server(tmp_path: Path, tensorboard_python: Path) -> Iterator[NotebookServer]:
    told = json.dumps({"notebooks": {"save_output": True}})
    server = NotebookServer(
        tmp_path,
        tensorboard_python,
        environ={"JUPYTER_NO_CONFIG": "1", "PORTAL_SETTINGS": told},
    )
    yield server
    server.kill()


async def test_a_session_that_ends_saves_what_cells_showed_without_a_page(
    server: NotebookServer,
) -> None:
    path = server.root / "waits.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell(CODE, id="waits")]), path)
    wanted = {"path": path.name, "type": "notebook", "kernel": {"name": "python3"}}
    kernel = ask(server, "POST", "api/sessions", json=wanted | {"name": ""})["kernel"]["id"]
    await leave_after(server, kernel, CODE, "epoch 1", cell_id="waits")
    server.root.joinpath("go").touch()
    kept = f"portal/api/kernels/{kernel}/executions"
    eventually(lambda: "epoch 2" in json.dumps(ask(server, "GET", kept)), timeout_s=60)

    server.stop()

    saved = nbformat.read(path, 4).cells[0]
    assert "".join(output.text for output in saved.outputs) == "epoch 1\nepoch 2\n"
    assert saved.execution_count == 1
