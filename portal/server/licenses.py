"""JupyterLab's licences: what their route refuses is answered."""

from __future__ import annotations

from typing import Any

from jupyter_server.base.handlers import APIHandler
from jupyterlab_server.licenses_handler import LicensesHandler


def answer_refusals() -> None:
    """Let the route of the licences answer what it refuses, instead of holding the connection.

    Source:
        jupyterlab_server 2.28, `LicensesHandler.finish`: it wants a type of content, which an
        error does not give, and is a coroutine, which nobody awaits then.
    """
    LicensesHandler.finish = _finish


def _finish(handler: APIHandler, *chunk: Any, _mime_type: str = "application/json") -> Any:
    return APIHandler.finish(handler, *chunk, set_content_type=_mime_type)
