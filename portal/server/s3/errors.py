"""Errors of S3."""

from dsportal.slurm.errors import PortalError


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
