"""Guessing passwords is slow, and nobody is kept out by it: whose password is checked next.

Wrong passwords never refuse a login; they put checks further apart. The checks of one name, and
those from one address, go one after another once there were some wrong ones, and who has given
fewer wrong passwords goes first. A browser that has logged in as somebody before has a row of its
own for that name, so that what others guess does not even delay it.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

FORGET_AFTER_S = 15 * 60.0
MOST_KEYS = 20_000
MOST_WAITING = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How patient the portal is.

    Args:
        n_free: Wrong passwords that cost nothing; as many checks may run at once.
        step_s: By how much each further wrong password puts the checks apart, in seconds.
        longest_s: Where that ends, in seconds.
        forget_one_s: After how long one wrong password is forgotten, in seconds: at a busy address
            people mistype all day.
        most_waiting: How many attempts may wait for one another.
    """

    n_free: int
    step_s: float
    longest_s: float
    forget_one_s: float
    most_waiting: int

    @property
    def most_wrong(self) -> int:
        """How many wrong passwords are counted; more would change nothing."""
        return self.n_free + math.ceil(self.longest_s / self.step_s)

    def spacing_s(self, n_wrong: int) -> float:
        """Return how far apart checks start.

        Args:
            n_wrong: How many wrong passwords there were.

        Returns:
            Seconds.
        """
        return min(max(0, n_wrong - self.n_free + 1) * self.step_s, self.longest_s)


# Six a minute for a name in the long run; its owner, from a new browser, waits as long as one.
PER_NAME = Pace(n_free=5, step_s=0.3, longest_s=10, forget_one_s=60, most_waiting=20)
# More than a class room mistypes.
PER_ADDRESS = Pace(n_free=200, step_s=0.05, longest_s=2, forget_one_s=10, most_waiting=300)


class Outcome(Enum):
    """What the check of a password said."""

    RIGHT = "right"
    WRONG = "wrong"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Attempt:
    """One attempt to log in.

    Args:
        name: The name of the account.
        address: Where it comes from.
        browser: Which browser, where it has logged in with this name before; else empty.
    """

    name: str
    address: str
    browser: str = ""

    @property
    def paces(self) -> dict[str, Pace]:
        """What the attempt has to wait for, and how that is paced."""
        if self.browser:
            return {f"{self.name} in browser {self.browser}": PER_NAME}
        return {self.name: PER_NAME, f"anybody from {self.address}": PER_ADDRESS}

    @property
    def pair(self) -> str:
        """Name and address, whose wrong passwords decide who goes first."""
        return f"{self.name} from {self.address}"


@dataclass(slots=True)
class _Tally:
    pace: Pace
    changed_s: float
    forgotten_s: float
    n_wrong: int = 0
    n_checking: int = 0
    checked_s: float = float("-inf")

    def forget(self, now_s: float) -> None:
        """Forget the wrong passwords that are old."""
        n_old = int((now_s - self.forgotten_s) / self.pace.forget_one_s)
        self.n_wrong = max(0, self.n_wrong - n_old)
        self.forgotten_s += n_old * self.pace.forget_one_s

    def count(self, now_s: float) -> None:
        """Count one more."""
        if not self.n_wrong:
            self.forgotten_s = now_s
        self.n_wrong = min(self.n_wrong + 1, self.pace.most_wrong)


class Guessing:
    """Counts wrong passwords, and says whose password is to be checked.

    Nothing is kept on disk. A tally is forgotten FORGET_AFTER_S after its last attempt, and the
    numbers of tallies and of waiting attempts have limits, so that a flood fills no memory.

    Args:
        clock: Returns seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tallies: dict[str, _Tally] = {}
        # In the order of arrival.
        self._waiting: dict[Attempt, None] = {}

    def arrive(self, attempt: Attempt) -> Attempt | None:
        """Let an attempt wait for its turn.

        Args:
            attempt: The attempt.

        Returns:
            The attempt that waits no longer because too many do; or None.
        """
        self._waiting[attempt] = None
        for crowd in self._crowds(attempt):
            last = self._in_order(crowd)[-1]
            self.leave(last)
            return last
        return None

    def leave(self, attempt: Attempt) -> None:
        """Let an attempt wait no longer; one that does not wait is nothing.

        Args:
            attempt: The attempt.
        """
        self._waiting.pop(attempt, None)

    def next_turns(self) -> list[Attempt]:
        """Return the attempts whose passwords are to be checked now.

        Returns:
            Attempts that wait no longer; each one's outcome has to be told to `finish`.
        """
        now_s = self._clock()
        taken = []
        for attempt in self._in_order(self._waiting):
            if self._due_s(attempt) <= now_s:
                taken.append(attempt)
                self._begin(attempt, now_s)
        return taken

    def next_look_s(self) -> float | None:
        """Return when to ask `next_turns` again.

        Returns:
            Seconds from now, or None where only an attempt that comes or finishes changes anything.
        """
        due_s = min(map(self._due_s, self._waiting), default=float("inf"))
        return None if due_s == float("inf") else max(0.0, due_s - self._clock())

    def finish(self, attempt: Attempt, outcome: Outcome) -> None:
        """Count what a check said.

        Args:
            attempt: One that `next_turns` returned.
            outcome: What the check said. The right password forgives the wrong ones before it, of
                the same name and address; an unknown outcome counts for nothing.
        """
        now_s = self._clock()
        n_forgiven = self._n_wrong(attempt.pair) if outcome is Outcome.RIGHT else 0
        for key, pace in attempt.paces.items():
            tally = self._tally(key, pace, now_s)
            tally.n_checking = max(0, tally.n_checking - 1)
            tally.n_wrong = max(0, tally.n_wrong - n_forgiven)
            if outcome is Outcome.RIGHT and attempt.browser:
                tally.n_wrong = 0
        if outcome is Outcome.WRONG:
            for key, pace in {**attempt.paces, attempt.pair: PER_NAME}.items():
                self._tally(key, pace, now_s).count(now_s)
        elif outcome is Outcome.RIGHT:
            self._tallies.pop(attempt.pair, None)
        self._forget_old(now_s)

    def spacing_s(self, attempt: Attempt) -> float:
        """Return how far apart checks like this one start now.

        Args:
            attempt: The attempt.

        Returns:
            Seconds; 0 where it need not wait.
        """
        return max(p.spacing_s(self._n_wrong(key)) for key, p in attempt.paces.items())

    def _in_order(self, attempts: Iterable[Attempt]) -> list[Attempt]:
        """Return who goes first: who has given fewer wrong passwords, then who came last.

        In a queue that a guesser keeps full, first come, first served would be the guesser.
        """
        newest_first = reversed(list(attempts))
        return sorted(newest_first, key=lambda one: self._n_wrong(one.pair))

    def _crowds(self, attempt: Attempt) -> Iterable[list[Attempt]]:
        sizes = Counter(key for one in self._waiting for key in one.paces)
        for key, pace in attempt.paces.items():
            if sizes[key] > pace.most_waiting:
                yield [one for one in self._waiting if key in one.paces]
        if len(self._waiting) > MOST_WAITING:
            yield list(self._waiting)

    def _due_s(self, attempt: Attempt) -> float:
        """Return when an attempt may be checked; infinity where others have to finish first."""
        due_s = float("-inf")
        for key, pace in attempt.paces.items():
            n_wrong, tally = self._n_wrong(key), self._tallies.get(key)
            if tally is None or n_wrong + tally.n_checking < pace.n_free:
                continue
            if tally.n_checking:
                return float("inf")
            due_s = max(due_s, tally.checked_s + pace.spacing_s(n_wrong))
        return due_s

    def _begin(self, attempt: Attempt, now_s: float) -> None:
        self.leave(attempt)
        for key, pace in attempt.paces.items():
            tally = self._tally(key, pace, now_s)
            tally.n_checking += 1
            tally.checked_s = now_s

    def _n_wrong(self, key: str) -> int:
        tally = self._tallies.get(key)
        if tally is None:
            return 0
        tally.forget(self._clock())
        return tally.n_wrong

    def _tally(self, key: str, pace: Pace, now_s: float) -> _Tally:
        # The ones that changed last stand last.
        tally = self._tallies.pop(key, None) or _Tally(pace, now_s, now_s)
        tally.forget(now_s)
        tally.changed_s = now_s
        self._tallies[key] = tally
        return tally

    def _forget_old(self, now_s: float) -> None:
        n_over = len(self._tallies) - MOST_KEYS
        old: list[str] = []
        for key, tally in self._tallies.items():
            if tally.changed_s >= now_s - FORGET_AFTER_S and len(old) >= n_over:
                break
            if not tally.n_checking:
                old.append(key)
        for key in old:
            del self._tallies[key]
