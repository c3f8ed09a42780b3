"""Errors that requests to the server extension can cause.

Each is a PortalError of spawner.errors: its text says what was requested, the limit and the next
step.
"""

from __future__ import annotations

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


class TemplateError(PortalError):
    """A template cannot be copied or restored; the text says which and why."""

    http_status = 400


class CourseError(PortalError):
    """A link to a course asks for what it may not, or the course cannot be fetched."""

    http_status = 400


class OutputError(PortalError):
    """The output of a job or a rank cannot be read."""

    http_status = 400


class KernelJobError(PortalError):
    """A kernel cannot have GPUs in a job of its own as asked."""

    http_status = 409


class UploadError(PortalError):
    """A file cannot be uploaded to this place."""

    http_status = 403


class UploadConflictError(UploadError):
    """The bytes do not follow what has arrived."""

    http_status = 409


class UploadTakenError(UploadError):
    """A file of this name is there, and is not to be replaced."""

    http_status = 412


class UploadFullError(UploadError):
    """The disk, or the user's quota, is full."""

    http_status = 507


class PreviewError(PortalError):
    """A file cannot be shown; the text says why."""

    http_status = 422


class ExportError(PortalError):
    """A notebook cannot be exported as asked."""

    http_status = 404


class SilentPortError(PortalError):
    """Nothing listens on the requested port, or it does not answer."""

    http_status = 502


class ForeignPortError(PortalError):
    """What listens on the requested port belongs to another user or session."""

    http_status = 403


class SshError(PortalError):
    """The session cannot be reached over ssh; the text says why."""

    http_status = 503


class SshLimitError(SshError):
    """The session already has as many connections as it may have."""

    http_status = 409


class S3Error(PortalError):
    """S3 did not do what was asked; the text says why.

    Attributes:
        http_status: 403 for the keys, 404 for what is not there, 502 if S3 does not answer.
    """

    http_status = 400


class S3KeysError(S3Error):
    """There are no keys for S3, or S3 refuses them."""

    http_status = 403


class S3NotFoundError(S3Error):
    """The bucket, folder or file is not there."""

    http_status = 404


class S3SilentError(S3Error):
    """S3 does not answer."""

    http_status = 502
