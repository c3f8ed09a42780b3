"""LicensesHandler: what the route of JupyterLab's licences refuses is answered.

Its `finish` wants a type of content, which an error does not give, and is a coroutine, which nobody
awaits then: the connection stays open, also for somebody who is not logged in.

Source:
    jupyterlab_server 2.28.1, `LicensesHandler.finish`.

Shown by:
    tests/server/test_tensorboard_in_browser.py
"""

from collections.abc import Callable
from typing import Any

from jupyter_server.base.handlers import APIHandler
from jupyterlab_server.licenses_handler import LicensesHandler

from spawner.patch import wrap


def answer_refusals() -> None:
    """Let the route answer what it refuses."""
    wrap(LicensesHandler, "finish", _plain)


def _plain(_: Callable[..., Any]) -> Callable[..., Any]:
    def finish(
        self: APIHandler, *chunk: Any, _mime_type: str = "application/json", **_options: Any
    ) -> Any:
        return APIHandler.finish(self, *chunk, set_content_type=_mime_type)

    return finish
