"""The error of a failed start, in the form that JupyterHub shows on pages and in REST responses."""

from __future__ import annotations

import html

from dsportal.slurm.errors import OptionsError, PortalError
from spawner.errors import JobRejectedError, PreflightError, SlurmUnavailableError
from spawner.session.session_end import JobEndedError

# JupyterHub 5 has no error of its own for a start that a policy refuses.
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


# Below the hub's prefix; for the user who is logged in.
RESCUE_PAGE = "spawn?rescue=1"
_REASONS = {
    OptionsError: "options",
    JobRejectedError: "rejected",
    PreflightError: "preflight",
    SlurmUnavailableError: "slurm-unavailable",
    JobEndedError: "job-ended",
}


class StartFailedError(SpawnException):
    """A session could not start.

    Args:
        rescue_url: Page that starts a rescue session; "" if that does not help.
    """

    def __init__(self, error: PortalError, *, log_lines: str = "", rescue_url: str = "") -> None:
        self.error = error
        self.log_lines = log_lines
        message = error.message
        shown = f"<p>{html.escape(message)}</p>"
        if rescue_url and getattr(error, "needs_rescue", False):
            shown += f'<p><a href="{rescue_url}">Start a rescue session</a></p>'
        if log_lines:
            message = f"{message}\n\nThe end of the job's log:\n{log_lines}"
            shown += (
                "<p>The end of the job's log:</p>"
                f'<pre class="text-start">{html.escape(log_lines)}</pre>'
            )
        super().__init__(
            message,
            reason=_REASONS.get(type(error), "error"),
            log_message=error.message,
            status_code=error.http_status,
        )
        self.jupyterhub_message = message
        self.jupyterhub_html_message = shown
