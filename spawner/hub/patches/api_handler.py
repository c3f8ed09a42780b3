"""APIHandler: errors of the REST interface in sentences of ours.

JupyterHub's speak of spawners, scopes and servers. It has no hook for the words of an error; those
of its pages are replaced in the template.

Source:
    JupyterHub 6.1.1, `APIHandler.write_error`.

Shown by:
    tests/hub/test_error_sentences.py
"""

from collections.abc import Callable
from typing import Any

from jupyterhub.apihandlers import APIHandler
from tornado.web import HTTPError

from spawner.patch import wrap


def word_errors(explain: Callable[[str], str]) -> None:
    """Have errors answered with what `explain` makes of JupyterHub's words; "" keeps them."""

    def around(original: Callable[..., None]) -> Callable[..., None]:
        def write_error(self: APIHandler, status_code: int, **kwargs: Any) -> None:
            error = kwargs.get("exc_info", (None, None))[1]
            # An error with a sentence of its own, such as that of a failed start, keeps it.
            if isinstance(error, HTTPError) and not hasattr(error, "jupyterhub_message"):
                said = explain(error.get_message() or "")
                if said:
                    # Not `log_message`: the hub's log keeps JupyterHub's words.
                    error.jupyterhub_message = said  # type: ignore[attr-defined]
            original(self, status_code, **kwargs)

        return write_error

    wrap(APIHandler, "write_error", around)
