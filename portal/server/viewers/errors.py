"""Errors of viewers."""

from dsportal.slurm.errors import PortalError


class FolderError(PortalError):
    """A requested log folder does not exist, or may not be shown."""

    http_status = 400


class StorageTimeoutError(PortalError):
    """The file system did not answer in time, so nothing is known about the folder."""

    http_status = 504


class ViewerError(PortalError):
    """TensorBoard did not start."""


class ViewerLimitError(ViewerError):
    """The session already runs as many TensorBoards as it may."""

    http_status = 409
