"""Names of files that are not UTF-8: shown with a mark, and a sentence where one is opened.

A browser cannot put such a name into an address: JupyterLab would say "URI malformed".
"""

from __future__ import annotations

import re
from typing import Any

from tornado.web import HTTPError

# Python's form of a byte that is not UTF-8 (PEP 383), and what stands for it in names.
_BYTE = re.compile("[\udc80-\udcff]")
_MARK = "\ufffd"


def mark_unreadable_names(contents: Any) -> None:
    """List such files with marks in their names, and say what to do when one is opened.

    Args:
        contents: Jupyter's contents manager, changed in place.
    """
    original = contents.get

    async def get(path: str, *args: Any, **kwargs: Any) -> Any:
        try:
            model = await original(path, *args, **kwargs)
        except HTTPError as error:
            if error.status_code != 404 or _MARK not in path:
                raise
            # To a 404 Jupyter gives words of its own, which JupyterLab does not show.
            raise HTTPError(400, describe(path)) from error
        listed = model.get("content") if model.get("type") == "directory" else None
        for entry in listed or ():
            for key in ("name", "path"):
                entry[key] = _BYTE.sub(_MARK, entry[key])
        return model

    contents.get = get


def describe(path: str) -> str:
    """Return what to do about a file whose name has marks; `path` is Jupyter's."""
    return (
        f"The name of {path.rpartition('/')[2]} is not UTF-8, so it cannot be opened here. Rename"
        " it in a terminal: type mv, a space, the beginning of the name, and the Tab key, then the"
        " new name."
    )
