"""Errors of exports."""

from __future__ import annotations

from dsportal.slurm.errors import PortalError


class ExportError(PortalError):
    """A notebook cannot be exported as asked."""

    http_status = 404
