"""Each line of the guide for people who come from elsewhere, typed as there."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.server.test_terminals import SERVER, said_in_terminal
from tests.support.checkout import CHECKOUT
from tests.support.kernels import run_cells
from tests.support.notebook_server import NotebookServer

GUIDE = CHECKOUT / "docs/use/coming-from.md"
NOTEBOOK = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
# What is seen of each line.
IN_A_CELL = {
    "!pip install --user einops": "--user is left out",
    "!jupyter server list": "/user/ada/",
    "!jupyter labextension list": "data-scientist-portal",
    "!jupyter nbconvert --to html study.ipynb": "study.html",
    "%load_ext tensorboard": "",
    "%tensorboard --logdir logs": "",
    "from google.colab import drive": "in the file browser",
    "import tensorflow": "tensorflow is in the kernel TensorFlow",
    "!module load null": "",
    "%module load null": "",
}
IN_A_TERMINAL = {
    "python": "source dsportal-activate pytorch",
    "pip install einops": "dsportal packages pip pytorch",
    "conda": "dsportal environments new",
    "nvidia-smi": "GPUs",
}
ADDRESSES = {
    "/user/NAME/proxy/8050/": "/user/ada/port/8050/",
    "/user/NAME/proxy/absolute/8050/": "/user/ada/port/8050/",
    "/user/NAME/tree": "",
}
FAILURES = ("not found", "Traceback", "UsageError", "ERROR")


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, tensorboard_python: Path
) -> Iterator[NotebookServer]:
    server = NotebookServer(
        tmp_path_factory.mktemp("elsewhere"),
        tensorboard_python,
        argv=(str(SERVER / "bin/python"), "-m", "jupyter_server"),
        extensions=("portal.server", "jupyter_server_terminals", "notebook"),
        # pip then looks in no index: what is typed is tried, and not the network.
        environ={"JUPYTER_NO_CONFIG": "1", "SHELL": "/bin/bash", "PIP_NO_INDEX": "1"},
    )
    (server.root / "study.ipynb").write_text(json.dumps(NOTEBOOK))
    yield server
    server.stop()


def typed(section: str) -> list[str]:
    """Return what is typed by the first column of a section's table."""
    text = GUIDE.read_text().partition(f"## {section}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `([^|]*)` \|", text, re.MULTILINE)


@pytest.mark.parametrize("kernel", ["python3", "pytorch"])
async def test_each_line_of_a_cell(server: NotebookServer, kernel: str) -> None:
    assert typed("In a cell") == [*IN_A_CELL]

    shown = await run_cells(server, kernel, *IN_A_CELL)

    for line, said in zip(IN_A_CELL, shown, strict=True):
        assert IN_A_CELL[line] in said, (line, said)
        # pip finds no package, since it has no index.
        assert "pip" in line or not any(failure in said for failure in FAILURES), (line, said)


async def test_each_line_of_a_terminal(server: NotebookServer) -> None:
    assert typed("In a terminal") == [*IN_A_TERMINAL]

    for line, expected in IN_A_TERMINAL.items():
        # Python then ends at once.
        said = await said_in_terminal(server, f"{line} </dev/null")
        assert expected in said


def test_each_address(server: NotebookServer) -> None:
    assert typed("Addresses") == [*ADDRESSES]

    for address, leads_to in ADDRESSES.items():
        url = f"{server.host}{address.replace('NAME', 'ada')}"
        answer = server.http.get(url, timeout=30, allow_redirects=False)
        assert answer.headers.get("Location", "") == leads_to
        assert answer.status_code == (307 if leads_to else requests.codes.ok)
