"""The use of resources since the session's start, in a list of bounded length."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class ThinnedHistory(Generic[T]):
    """Keeps values of a whole session: when it is full, each two neighbours become one.

    So all values stand for equally long times, which double whenever it is full.

    Args:
        merge: Returns one value for two neighbours, the older one first.
        n_most: Most values that are kept; even.
    """

    def __init__(self, merge: Callable[[T, T], T], *, n_most: int) -> None:
        self._merge = merge
        self._n_most = n_most
        self._values: deque[T] = deque()
        # What is not yet enough for a value: at most one piece of each length, the longest first.
        self._pieces: list[tuple[int, T]] = []
        self._n_merged = 1

    def append(self, value: T) -> None:
        """Take the next value."""
        piece = (1, value)
        while self._pieces and self._pieces[-1][0] == piece[0]:
            n, older = self._pieces.pop()
            piece = (2 * n, self._merge(older, piece[1]))
        if piece[0] < self._n_merged:
            self._pieces.append(piece)
            return
        self._values.append(piece[1])
        if len(self._values) == self._n_most:
            values = list(self._values)
            pairs = zip(values[::2], values[1::2], strict=True)
            self._values = deque(self._merge(older, newer) for older, newer in pairs)
            self._n_merged *= 2

    def values(self) -> list[T]:
        """Return what is kept, oldest first; the last ones stand for shorter times."""
        return [*self._values, *(value for _, value in self._pieces)]
