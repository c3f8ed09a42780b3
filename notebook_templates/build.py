#!/usr/bin/env python3
"""Makes the notebooks from their sources: `notebook_templates/build.py [--check]`.

A source is a script in jupytext's percent form beside its notebook, in Python or R: `# %%` begins a
cell of code, `# %% [markdown]` one of text, `# %% tags=["gallery"]` the cell whose picture stands
in the gallery, and the header names the kernel and the packages that it needs. The same source
gives the same notebook, byte for byte, without outputs. `--check` writes nothing and names the
notebooks that differ from their source.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
_CELL = re.compile(r"^# %%(?P<markdown> \[markdown\])?(?: tags=(?P<tags>\[.*\]))?$", re.MULTILINE)
_HEADER_VALUE = re.compile(r"^# +(?P<key>display_name|language|name): (?P<value>.+)$", re.MULTILINE)
_PACKAGES = re.compile(r"^# +packages: \[(?P<names>.*)\]$", re.MULTILINE)
# Few sites have its kernel: nobody is told that it is missing.
_OPTIONAL = re.compile(r"^# +optional: true$", re.MULTILINE)
# A source is a script, in which a magic is a comment.
_MAGIC = re.compile(r"^# (?=%\w)", re.MULTILINE)
_SUFFIXES = (".py", ".R")


class SourceError(Exception):
    """A source is not in the form that it should have."""


def find_sources(folder: Path = HERE) -> list[Path]:
    """Return the sources of all notebooks.

    Args:
        folder: Folder with one folder for each framework, and what belongs to none beside them.

    Returns:
        Paths, sorted: files in Python and R that begin with the header of jupytext.
    """
    files = [*folder.glob("*.*"), *folder.glob("*/*.*")]
    scripts = (path for path in files if path.suffix in _SUFFIXES)
    return sorted(path for path in scripts if path.read_text("utf-8").startswith("# ---\n"))


def notebook_text(source: str) -> str:
    """Return the notebook that a source describes.

    Args:
        source: Text in jupytext's percent form, with a kernelspec in its header.

    Returns:
        The text of the .ipynb file.

    Raises:
        SourceError: If header or cells are missing.

    Source:
        nbformat 4.5; jupytext, "The percent format".
    """
    header, *parts = _CELL.split(source)
    kernel = {match["key"]: match["value"] for match in _HEADER_VALUE.finditer(header)}
    language = kernel.pop("language", "python")
    if kernel.keys() != {"display_name", "name"} or not parts:
        raise SourceError(
            "A source begins with '# ---', names display_name and name of its kernel, and has "
            "cells that begin with '# %%'."
        )
    cells = [
        _cell(number, text, is_markdown=bool(mark), tags=json.loads(tags or "[]"))
        for number, (mark, tags, text) in enumerate(
            zip(parts[::3], parts[1::3], parts[2::3], strict=True)
        )
    ]
    notebook = {
        "cells": cells,
        "metadata": {
            "kernelspec": {**kernel, "language": language},
            "language_info": {"name": language},
            **_packages(header),
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _packages(header: str) -> dict[str, object]:
    """Return the part of the metadata by which the launcher finds a kernel."""
    if (declared := _PACKAGES.search(header)) is None:
        return {}
    found: dict[str, object] = {"packages": [n for n in declared["names"].split(", ") if n]}
    return {"portal": found | ({"optional": True} if _OPTIONAL.search(header) else {})}


def _cell(number: int, text: str, *, is_markdown: bool, tags: list[str]) -> dict[str, object]:
    text = text.strip("\n")
    if is_markdown:
        text = "\n".join(line.removeprefix("#").removeprefix(" ") for line in text.splitlines())
    else:
        text = _MAGIC.sub("", text)
    digest = hashlib.sha256(f"{number} {text}".encode()).hexdigest()
    metadata = {"tags": tags} if tags else {}
    cell = {"id": digest[:12], "metadata": metadata, "source": text.splitlines(keepends=True)}
    if is_markdown:
        return {"cell_type": "markdown", **cell}
    return {"cell_type": "code", "execution_count": None, "outputs": [], **cell}


def main() -> int:
    """Build or check all notebooks.

    Returns:
        0, or 1 where --check found a difference.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, name differences")
    check = parser.parse_args().check
    n_different = 0
    for source in find_sources():
        notebook = source.with_suffix(".ipynb")
        text = notebook_text(source.read_text("utf-8"))
        if notebook.exists() and notebook.read_text("utf-8") == text:
            continue
        n_different += 1
        if check:
            print(f"{notebook.relative_to(HERE)} differs from its source")
        else:
            notebook.write_text(text, encoding="utf-8")
            print(f"wrote {notebook.relative_to(HERE)}")
    return 1 if check and n_different else 0


if __name__ == "__main__":
    sys.exit(main())
