"""A text of any length, of which an agent reads the beginning and the end."""

from __future__ import annotations

# More would fill what an agent can read at once.
MOST_CHARACTERS = 20_000


class Excerpt:
    """Keeps no more of a text than it shows."""

    def __init__(self, text: str = "") -> None:
        self._head = self._tail = ""
        self._n = 0
        self.add(text)

    def add(self, text: str) -> None:
        """Add what comes next."""
        self._n += len(text)
        room = MOST_CHARACTERS // 2 - len(self._head)
        self._head += text[:room]
        self._tail = (self._tail + text[room:])[-MOST_CHARACTERS // 2 :]

    def __str__(self) -> str:
        """Return it, and what is left out of its middle."""
        n_left_out = self._n - len(self._head) - len(self._tail)
        left_out = f"\n[{n_left_out} characters are left out]\n" if n_left_out else ""
        return f"{self._head}{left_out}{self._tail}"
