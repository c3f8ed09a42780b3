"""The line in which starts wait until it is their turn to be submitted.

A start costs the head node three programs, and many at once take the processor from the pages of
everybody else.
"""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

Tell = Callable[[int, int], None]

MOST_AT_ONCE = 4
# A start that takes longer waits for something, such as a home that does not answer, and costs
# nothing: the next one goes on beside it.
LONGEST_TURN_S = 5.0


@dataclass(slots=True, eq=False)
class _Waiting:
    user: str
    tell: Tell
    turn: asyncio.Future[None] = field(default_factory=asyncio.Future)


class StartLine:
    """Lets a few starts go on at once, in a fair order.

    Who starts several sessions waits with each further one until all others had their turn.

    Args:
        longest_turn_s: Seconds after which a turn is over although the start goes on.
    """

    def __init__(
        self, n_at_once: int = MOST_AT_ONCE, longest_turn_s: float = LONGEST_TURN_S
    ) -> None:
        self._n_at_once = n_at_once
        self._longest_turn_s = longest_turn_s
        # In rounds: nobody is twice in one.
        self._rounds: list[list[_Waiting]] = []
        self._taken: set[_Waiting] = set()

    @contextlib.asynccontextmanager
    async def turn(self, user: str, tell: Tell) -> AsyncIterator[None]:
        """Wait for the turn of a start, and hold it meanwhile.

        Args:
            tell: Called with the place in line, from 1, and the length of the line, at each change.
        """
        entry = _Waiting(user, tell)
        self._line_up(entry)
        self._move_up()
        try:
            await entry.turn
            end = asyncio.get_running_loop().call_later(self._longest_turn_s, self._leave, entry)
            try:
                yield
            finally:
                end.cancel()
        finally:
            self._leave(entry)

    def _line_up(self, entry: _Waiting) -> None:
        for waiting in self._rounds:
            if all(other.user != entry.user for other in waiting):
                waiting.append(entry)
                return
        self._rounds.append([entry])

    def _leave(self, entry: _Waiting) -> None:
        self._taken.discard(entry)
        for waiting in self._rounds:
            if entry in waiting:
                waiting.remove(entry)
        self._move_up()

    def _move_up(self) -> None:
        self._rounds = [waiting for waiting in self._rounds if waiting]
        while self._rounds and len(self._taken) < self._n_at_once:
            entry = self._rounds[0].pop(0)
            self._taken.add(entry)
            if not entry.turn.done():
                entry.turn.set_result(None)
            self._rounds = [waiting for waiting in self._rounds if waiting]
        line = list(itertools.chain.from_iterable(self._rounds))
        for place, entry in enumerate(line, start=1):
            entry.tell(place, len(line))


def describe_place(place: int, n_waiting: int) -> str:
    """Return the sentence about a place in line, counted from 1."""
    if n_waiting == 1:
        return "Your start is next in line."
    return f"Your start is number {place} of {n_waiting} in line."
