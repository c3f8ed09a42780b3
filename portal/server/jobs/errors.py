"""Errors of jobs and runs."""

from dsportal.slurm.errors import PortalError


class JobError(PortalError):
    """A Slurm job cannot be submitted, shown or changed as asked."""

    http_status = 400


class NoSuchJobError(JobError):
    """The user has no queued or running job with this id."""

    http_status = 404


class RunError(PortalError):
    """A run cannot be named, stopped, shown or removed as asked."""

    http_status = 409


class NoSuchRunError(RunError):
    """The user has no such run, or it does not run."""

    http_status = 404
