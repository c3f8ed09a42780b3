"""PDF of a notebook by Pandoc and Typst: without LaTeX, a browser, or a network."""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import Exporter

from portal.server.exports.errors import ExportError

_TIMEOUT_S = 120
_LAY_OUT = "import sys, typst; typst.compile(sys.argv[1], output=sys.argv[2])"


class PdfExporter(Exporter):
    """nbconvert's exporter to PDF, in place of that of LaTeX."""

    output_mimetype = "application/pdf"

    def _file_extension_default(self) -> str:
        return ".pdf"

    def from_notebook_node(
        self, nb: Any, resources: Any = None, **kwargs: Any
    ) -> tuple[bytes, dict[str, Any]]:
        """Return the PDF of a notebook; the arguments are nbconvert's."""
        prepared, resources = super().from_notebook_node(nb, resources, **kwargs)
        # Pictures that the text names by their paths.
        home = resources.get("metadata", {}).get("path") or "."
        for cell in prepared.cells:
            for output in cell.get("outputs", ()):
                if output.output_type == "execute_result":
                    # Null after the cells were cleared, which Pandoc does not read.
                    output.execution_count = output.execution_count or 0
        with tempfile.TemporaryDirectory(prefix="dsportal-pdf-") as folder:
            nbformat.write(prepared, Path(folder, "notebook.ipynb"))
            return make_pdf(Path(folder), Path(home).absolute()), resources


def make_pdf(folder: Path, pictures: Path) -> bytes:
    """Return the PDF of `notebook.ipynb` in `folder`, which gets all that is made on the way."""
    package = find_spec("pypandoc")
    if package is None or package.origin is None:
        raise ExportError("Pandoc is not here. Export the notebook as HTML, open and print that.")
    pandoc = Path(package.origin).parent / "files/pandoc"
    with as_file(files("portal.server.exports")) as ours:
        options = (
            *("--from=ipynb+raw_tex", "--to=typst", "--standalone", "--ipynb-output=all"),
            *(f"--lua-filter={ours / 'notebook.lua'}", f"--include-in-header={ours / 'page.typ'}"),
            *(f"--resource-path={pictures}", "--extract-media=media", "--output=notebook.typ"),
        )
        _run([str(pandoc), "notebook.ipynb", *options], folder)
    # In a process of its own, which can be ended.
    _run([sys.executable, "-I", "-c", _LAY_OUT, "notebook.typ", "notebook.pdf"], folder)
    return (folder / "notebook.pdf").read_bytes()


def _run(argv: Sequence[str], folder: Path) -> None:
    try:
        done = subprocess.run(
            argv, cwd=folder, capture_output=True, timeout=_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ExportError(
            f"The PDF was not ready after {_TIMEOUT_S} s. Clear long outputs and try again, or "
            "export as HTML, open that and print it."
        ) from error
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        raise ExportError(
            f"The notebook cannot be laid out as PDF: {lines[-1]}. Export it as HTML, open that "
            "and print it."
        )
