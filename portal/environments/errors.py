"""Errors of the registry of environments."""

from dsportal.slurm.errors import PortalError


class RegistryError(PortalError):
    """An entry of the registry is wrong, or cannot be written; the text says which and why."""

    http_status = 400
