"""A clock that a test turns."""


class Clock:
    """Tells the same time until `now_s` is changed."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s
