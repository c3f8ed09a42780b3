"""Errors of notebooks as jobs."""

from __future__ import annotations

from dsportal.slurm.errors import PortalError


class NotebookJobError(PortalError):
    """A notebook cannot be run as a job as asked."""

    http_status = 400
