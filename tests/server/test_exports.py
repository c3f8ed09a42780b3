"""Exports of a notebook, as the menu of JupyterLab offers and asks for them."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
import requests
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tests.support.checkout import PYTHONPATH
from tests.support.notebook_server import NotebookServer

SERVER = Path("/opt/data-scientist-portal/environments/server/bin/python")
TEXT = """\
# Meßwerte

$$\\frac{1}{2}$$

\\begin{align}x &= 1\\end{align}

| a | b |
|---|---|
| 1 | 2 |
"""
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
FRAME = "<table><tr><th>mean</th></tr><tr><td>0.98</td></tr></table>"


def study() -> nbformat.NotebookNode:
    outputs = [
        new_output("stream", name="stdout", text="first\n" + "x" * 30_000 + "\nlast\n"),
        new_output("display_data", {"image/png": PNG, "text/plain": "<Figure>"}),
        new_output("execute_result", {"text/html": FRAME, "text/plain": "the frame"}),
        new_output("display_data", {"text/html": "<script>1</script>", "text/plain": "a widget"}),
        new_output("error", ename="E", evalue="e", traceback=["\x1b[31mE\x1b[0m: red"]),
    ]
    code = new_code_cell("print(1)", execution_count=1, outputs=outputs)
    notebook = new_notebook(cells=[new_markdown_cell(TEXT), code])
    notebook.metadata.language_info = {"name": "python"}
    return notebook


@pytest.fixture(scope="module", params=["of the portal", "of a site's own, without Pandoc"])
def server(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    tensorboard_python: Path,
) -> Iterator[NotebookServer]:
    python = str(SERVER) if request.param == "of the portal" else sys.executable
    folder = tmp_path_factory.mktemp("exports")
    server = NotebookServer(folder, tensorboard_python, argv=(python, "-m", "jupyter_server"))
    nbformat.write(study(), server.root / "study.ipynb")
    yield server
    server.stop()


def offered(server: NotebookServer) -> set[str]:
    answer = server.http.get(f"{server.host}/user/ada/api/nbconvert", timeout=60)
    answer.raise_for_status()
    return set(answer.json())


def export(server: NotebookServer, name: str) -> requests.Response:
    url = f"{server.host}/user/ada/nbconvert/{name}/study.ipynb?download=true"
    return server.http.get(url, timeout=120)


def test_each_format_that_is_offered_can_be_had(server: NotebookServer) -> None:
    names = offered(server)

    assert names >= {"html", "markdown", "script", "slides"}
    assert {name: export(server, name).status_code for name in names} == dict.fromkeys(names, 200)


def test_each_other_format_is_refused_in_a_sentence(server: NotebookServer) -> None:
    others = {"pdf", "rst", "webpdf", "qtpdf", "floppy"} - offered(server)
    answers = [export(server, name) for name in others]

    assert others >= {"webpdf", "floppy"}
    assert {answer.status_code for answer in answers} == {404}
    assert all("html" in answer.text.lower() for answer in answers)


def test_a_pdf_holds_what_paper_can_show(tmp_path: Path) -> None:
    nbformat.write(study(), tmp_path / "study.ipynb")
    # In a folder that stays, since it is asked what was laid out.
    code = (
        "import tempfile, sys, portal.server.exports.pdf as pdf\n"
        "tempfile.TemporaryDirectory = lambda prefix: __import__('contextlib').nullcontext('.')\n"
        "open('study.pdf', 'wb').write(pdf.PdfExporter().from_filename('study.ipynb')[0])"
    )
    subprocess.run(
        [SERVER, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": PYTHONPATH},
        check=True,
        timeout=120,
    )
    typst = (tmp_path / "notebook.typ").read_text().partition("#show: doc")[2]

    assert (tmp_path / "study.pdf").read_bytes().startswith(b"%PDF")
    assert "$ 1 / 2 $" in typst
    assert "align" not in typst.partition("#figure")[0]
    assert "[0.98]" in typst
    assert "the frame" not in typst
    assert "a widget" in typst
    assert ".png" in typst
    assert "E: red" in typst
    assert "characters are left out in print" in typst
    assert max(map(len, typst.splitlines())) < 200, "no line runs over the edge"
    assert {"first", "last"} <= set(typst.splitlines())
