"""Build failures whose cause is outside this code."""


class BuildError(Exception):
    """A step of a build failed.

    Args:
        what: One sentence: what was tried and how it ended.
        next_step: One sentence: what to do; empty if the log says more.
    """

    def __init__(self, what: str, next_step: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.next_step = next_step
