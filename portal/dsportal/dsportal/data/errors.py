"""Errors of images and shards that a user can resolve."""


class DataError(Exception):
    """A folder of images or shards is missing, holds something else, or cannot be written.

    Args:
        message: What was asked, the limit and the next step.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def _render_traceback_(self) -> list[str]:
        # IPython asks the exception for the lines to show in place of a traceback.
        return [f"{type(self).__name__}: {self}"]
