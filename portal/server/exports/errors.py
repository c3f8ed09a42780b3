"""Errors of exports."""

from dsportal.slurm.errors import PortalError


class ExportError(PortalError):
    """A notebook cannot be exported as asked."""

    http_status = 404
