"""JupyterHub's error of a start that a policy refuses, also for JupyterHub 5, which has none."""

from __future__ import annotations

try:
    from jupyterhub.spawner import SpawnException
except ImportError:
    from tornado.web import HTTPError

    class SpawnException(HTTPError):  # type: ignore[no-redef]  # noqa: N818
        """As in JupyterHub 6, with what version 5 shows of an HTTPError."""

        def __init__(
            self, message: str, *, reason: str, log_message: str = "", status_code: int = 400
        ) -> None:
            # %s, because tornado would take a percent sign in the message for a place to fill.
            super().__init__(status_code, "%s", log_message or message, reason=reason)
            self.message = message


__all__ = ["SpawnException"]
