"""Errors of a run that a user or a site can cause.

    LaunchError          str() is what was asked, the limit and the next step
      SessionError       this Python is in no session, or the session is too small
      StepError          Slurm did not start the ranks, or lost them
      RankError          the function failed on a rank
      UnaveragedError    training would continue without averaging gradients
      TensorBoardError   the notebook server starts no TensorBoard
      DataError          a folder of images or shards is missing, or is something else

Notebooks show these errors without frames of this package: only the sentences, and the rank's own
traceback for a RankError. Of an interrupt they show the name.
"""

from pathlib import Path


def printable(text: str) -> str:
    """Return text that pages and logs can hold: names of files need not be UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


class LaunchError(Exception):
    """Base of all errors of a run that a user or a site can cause.

    Args:
        message: One or two sentences: what was asked, the limit, the next step.
    """

    def __init__(self, message: str) -> None:
        self.message = printable(message)
        super().__init__(self.message)

    def _render_traceback_(self) -> list[str]:
        # IPython asks the exception for the lines to show in place of a traceback.
        return [f"{type(self).__name__}: {self}"]


def hide_frames(error: BaseException) -> None:
    """Let notebooks show an interrupt as one line, without frames of this package.

    Other errors stay as they are: where a fault of this package is, its frames tell.
    """
    if isinstance(error, KeyboardInterrupt):
        # Python's own class has no method for what IPython asks.
        error.__dict__["_render_traceback_"] = lambda: [type(error).__name__]


class SessionError(LaunchError):
    """The session cannot provide what the user asked for."""


class StepError(LaunchError):
    """Slurm did not start the ranks, or ended them.

    Args:
        is_refused: True if Slurm took nothing; False if it may still start the ranks.
    """

    def __init__(self, message: str, *, is_refused: bool = False) -> None:
        super().__init__(message)
        self.is_refused = is_refused


class UnaveragedError(LaunchError):
    """Ranks would train independently, without averaging their gradients."""


class TensorBoardError(LaunchError):
    """A TensorBoard cannot be started."""


class RankError(LaunchError):
    """The function failed on a rank; all ranks have been ended.

    Args:
        message: What failed, on which rank, and where its log is.
        rank: The rank that failed first.
        node: Slurm's name of its node.
        log_path: File with everything that the rank printed.
        traceback_text: The rank's own traceback, or the end of its log if it left none; empty if
            the message says it all.
    """

    def __init__(
        self, message: str, *, rank: int, node: str, log_path: Path, traceback_text: str
    ) -> None:
        super().__init__(message)
        self.rank = rank
        self.node = node
        self.log_path = log_path
        self.traceback_text = traceback_text

    def __str__(self) -> str:
        return f"{self.message}\n\n{self.traceback_text}".rstrip()


class DataError(LaunchError):
    """A folder of images or shards is missing, holds something else, or cannot be written."""
