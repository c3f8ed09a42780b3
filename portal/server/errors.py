"""What a user of the notebook server can ask for in vain.

Each is a PortalError of spawner.errors: its text says what was asked, the limit and the next step.
"""

from __future__ import annotations

from spawner.errors import PortalError


class LogdirError(PortalError):
    """A folder that TensorBoard was asked for is not there, or outside what it may show."""

    http_status = 400


class StorageTimeoutError(PortalError):
    """The file system gave no answer in time: nothing is known about the folder."""

    http_status = 504


class TensorBoardError(PortalError):
    """TensorBoard did not start."""


class TensorBoardLimitError(TensorBoardError):
    """No further TensorBoard may be started in this session."""

    http_status = 409


class TemplateError(PortalError):
    """A template cannot be restored; the text says which and why."""

    http_status = 400


class JobError(PortalError):
    """A Slurm job cannot be submitted, shown or cancelled as asked."""

    http_status = 400


class NoSuchJobError(JobError):
    """The user has no job of this id that waits or runs."""

    http_status = 404


class SilentPortError(PortalError):
    """Nothing listens on a port that the user asked for, or it does not answer."""

    http_status = 502


class ForeignPortError(PortalError):
    """What listens on a port is another user's, or of another session."""

    http_status = 403
