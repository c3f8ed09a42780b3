"""The formats that notebooks can be exported to here: those whose programs are there."""

import shutil
from importlib.util import find_spec

from nbconvert.exporters.base import get_export_names, get_exporter

from portal.server.exports.errors import ExportError

_PDF = "portal.server.exports.pdf.PdfExporter"
# nbconvert leaves the text of these to Pandoc.
_OF_PANDOC = frozenset({"asciidoc", "latex", "rst"})
# nbconvert draws these with a browser of its own.
_OF_BROWSERS = frozenset({"webpdf", "qtpdf", "qtpng"})
# For a template that only a command line can name.
_WITHOUT_TEMPLATE = "custom"


def exporter_name(name: str) -> str:
    """Return nbconvert's name of what exports to a format.

    Raises:
        ExportError: If there is no such format, or what makes it is not here.
    """
    if name == "pdf":
        if find_spec("pypandoc") and find_spec("typst"):
            return _PDF
        if not (shutil.which("pandoc") and shutil.which("xelatex")):
            raise ExportError(
                "PDF is made by Pandoc and Typst, and this server does not have both. Export the "
                "notebook as HTML, open that and print it into a PDF."
            )
    elif name in _OF_PANDOC and not shutil.which("pandoc"):
        raise ExportError(
            f"The format {name} is made by Pandoc, which this server does not have. Choose HTML or "
            "Markdown."
        )
    elif name in _OF_BROWSERS:
        raise ExportError(
            f"The format {name} is made by a browser, and this server has none. Choose PDF, or "
            "export as HTML, open that and print it."
        )
    elif name == _WITHOUT_TEMPLATE or name not in get_export_names():
        raise ExportError(f"Notebooks cannot be exported as {name}. Choose HTML or PDF.")
    return name


def offered() -> dict[str, str]:
    """Return the MIME types of the formats that can be made, by their names."""
    found = {}
    for name in get_export_names():
        try:
            found[name] = get_exporter(exporter_name(name)).output_mimetype
        except ExportError:
            continue
    return found
