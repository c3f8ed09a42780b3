"""Everything that can go wrong with a run for a reason outside this code.

    LaunchError          str() is what was asked, the limit and the next step
      SessionError       this Python is in no session, or the session is too small
      StepError          Slurm did not start the ranks, or lost them
      RankError          the function failed on a rank
      UnaveragedError    training would go on without averaging gradients
      BoardError         the notebook server starts no TensorBoard

Notebooks show these errors without the frames of this package: the sentence, and for a
rank its own traceback.
"""

from __future__ import annotations

from pathlib import Path


class LaunchError(Exception):
    """Base of all errors that a user or a site can cause.

    Args:
        message: One or two sentences: what was asked, the limit, the next step.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def _render_traceback_(self) -> list[str]:
        # IPython asks the exception for the lines to show in place of a traceback.
        return [f"{type(self).__name__}: {self}"]


class SessionError(LaunchError):
    """The session cannot give what was asked for."""


class StepError(LaunchError):
    """Slurm did not start the ranks, or ended them."""


class UnaveragedError(LaunchError):
    """Ranks would train side by side without averaging their gradients."""


class BoardError(LaunchError):
    """There is no TensorBoard for what was asked."""


class RankError(LaunchError):
    """The function failed on a rank; all ranks have been ended.

    Args:
        message: What failed, on which rank, and where its log is.
        rank: The rank that failed first.
        node: Name of the node that it ran on.
        log_path: File with everything that the rank printed.
        traceback_text: The rank's own traceback, or the end of its log where it left none; empty
            where the message says it all.
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
