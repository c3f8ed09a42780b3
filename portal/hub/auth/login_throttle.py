"""Slows down guessing of passwords without locking anybody out: decides what is checked next.

Wrong passwords never refuse a login; they space checks out. After some wrong passwords, the checks
of one name, and those from one address, run one after another, and whoever gave fewer wrong
passwords goes first. A browser that has logged in as a user before has a queue of its own for that
name, so that others' guesses do not even delay it.
"""

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
class Throttle:
    """How checks are spaced out after wrong passwords.

    Args:
        n_free: Wrong passwords without a delay; also how many checks may run at once.
        step_s: Seconds that each further wrong password adds between checks.
        forget_one_s: Seconds after which one wrong password is forgotten: at a busy address people
            mistype all day.
        most_waiting: Most attempts that may wait in one queue.
    """

    n_free: int
    step_s: float
    longest_s: float
    forget_one_s: float
    most_waiting: int

    @property
    def most_wrong(self) -> int:
        """Wrong passwords beyond this number are not counted; they would change nothing."""
        return self.n_free + math.ceil(self.longest_s / self.step_s)

    def spacing_s(self, n_wrong: int) -> float:
        """Return the seconds between the starts of two checks after `n_wrong` wrong passwords."""
        return min(max(0, n_wrong - self.n_free + 1) * self.step_s, self.longest_s)


# Six a minute for a name in the long run; its owner, from a new browser, waits as long as one.
PER_NAME = Throttle(n_free=5, step_s=0.3, longest_s=10, forget_one_s=60, most_waiting=20)
# More than a class room mistypes.
PER_ADDRESS = Throttle(n_free=200, step_s=0.05, longest_s=2, forget_one_s=10, most_waiting=300)


class CheckResult(Enum):
    """Result of checking a password."""

    RIGHT = "right"
    WRONG = "wrong"
    UNKNOWN = "unknown"


# Without eq, two attempts with the same fields are two keys of the dict in which they wait.
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoginAttempt:
    """One attempt to log in.

    Args:
        browser: Identity of a browser that has logged in with this name before; else empty.
    """

    name: str
    address: str
    browser: str = ""

    @property
    def throttles(self) -> dict[str, Throttle]:
        """The queues in which the attempt waits, each with its pace."""
        if self.browser:
            # Not the address either: others behind it may be the ones who guess.
            return {f"{self.name} in browser {self.browser}": PER_NAME}
        return {self.name: PER_NAME, f"anybody from {self.address}": PER_ADDRESS}

    @property
    def pair(self) -> str:
        """Name and address together; their wrong passwords decide who goes first."""
        return f"{self.name} from {self.address}"


@dataclass(slots=True)
class _Tally:
    pace: Throttle
    changed_s: float
    forgotten_s: float
    n_wrong: int = 0
    n_checking: int = 0
    checked_s: float = float("-inf")

    def forget(self, now_s: float) -> None:
        """Drop wrong passwords that are old enough."""
        n_old = int((now_s - self.forgotten_s) / self.pace.forget_one_s)
        self.n_wrong = max(0, self.n_wrong - n_old)
        self.forgotten_s += n_old * self.pace.forget_one_s

    def count(self, now_s: float) -> None:
        """Count one more wrong password."""
        if not self.n_wrong:
            self.forgotten_s = now_s
        self.n_wrong = min(self.n_wrong + 1, self.pace.most_wrong)


class LoginThrottle:
    """Counts wrong passwords and picks the attempts to check next.

    Nothing is kept on disk. A tally is dropped FORGET_AFTER_S after its last attempt, and the
    numbers of tallies and of waiting attempts are limited, so that a flood cannot fill memory.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tallies: dict[str, _Tally] = {}
        # In the order of arrival.
        self._waiting: dict[LoginAttempt, None] = {}

    def arrive(self, attempt: LoginAttempt) -> LoginAttempt | None:
        """Queue an attempt.

        Returns:
            The attempt, perhaps this one, that is dropped because too many wait; or None.
        """
        self._waiting[attempt] = None
        for crowd in self._crowds(attempt):
            last = self._in_order(crowd)[-1]
            self.leave(last)
            return last
        return None

    def leave(self, attempt: LoginAttempt) -> None:
        """Take an attempt out of the queue; does nothing if it is not waiting."""
        self._waiting.pop(attempt, None)

    def next_attempts(self) -> list[LoginAttempt]:
        """Return the attempts to check now; they no longer wait.

        Returns:
            The caller has to report each one's outcome to `finish`.
        """
        now_s = self._clock()
        taken = []
        for attempt in self._in_order(self._waiting):
            # Not computed beforehand: a check that begins delays those behind it.
            if self._due_s(attempt) <= now_s:
                taken.append(attempt)
                self._begin(attempt, now_s)
        return taken

    def next_check_s(self) -> float | None:
        """Return the seconds until `next_attempts` should be called again.

        Returns:
            None if only an arrival or `finish` can change anything.
        """
        due_s = min(map(self._due_s, self._waiting), default=float("inf"))
        return None if due_s == float("inf") else max(0.0, due_s - self._clock())

    def finish(self, attempt: LoginAttempt, outcome: CheckResult) -> None:
        """Record the outcome of a check.

        The right password forgives the wrong ones before it, of the same name and address; an
        unknown outcome counts for nothing.
        """
        now_s = self._clock()
        n_forgiven = self._n_wrong(attempt.pair) if outcome is CheckResult.RIGHT else 0
        for key, pace in attempt.throttles.items():
            tally = self._tally(key, pace, now_s)
            tally.n_checking = max(0, tally.n_checking - 1)
            tally.n_wrong = max(0, tally.n_wrong - n_forgiven)
            # That queue is this browser's alone, so every wrong password in it came from there.
            if outcome is CheckResult.RIGHT and attempt.browser:
                tally.n_wrong = 0
        if outcome is CheckResult.WRONG:
            for key, pace in {**attempt.throttles, attempt.pair: PER_NAME}.items():
                self._tally(key, pace, now_s).count(now_s)
        elif outcome is CheckResult.RIGHT:
            self._tallies.pop(attempt.pair, None)
        self._forget_old(now_s)

    def spacing_s(self, attempt: LoginAttempt) -> float:
        """Return the current seconds between checks like this one; 0 for no wait."""
        return max(p.spacing_s(self._n_wrong(key)) for key, p in attempt.throttles.items())

    def _in_order(self, attempts: Iterable[LoginAttempt]) -> list[LoginAttempt]:
        """Sort attempts: fewer wrong passwords first, then the newest.

        First come, first served would serve the guesser in a queue that they keep full.
        """
        newest_first = reversed(list(attempts))
        return sorted(newest_first, key=lambda one: self._n_wrong(one.pair))

    def _crowds(self, attempt: LoginAttempt) -> Iterable[list[LoginAttempt]]:
        sizes = Counter(key for one in self._waiting for key in one.throttles)
        for key, pace in attempt.throttles.items():
            if sizes[key] > pace.most_waiting:
                yield [one for one in self._waiting if key in one.throttles]
        if len(self._waiting) > MOST_WAITING:
            yield list(self._waiting)

    def _due_s(self, attempt: LoginAttempt) -> float:
        """Return when an attempt may be checked; infinity if others have to finish first."""
        due_s = float("-inf")
        for key, pace in attempt.throttles.items():
            n_wrong, tally = self._n_wrong(key), self._tallies.get(key)
            # Running checks count as wrong ones until they end: many at once must not pass for
            # free.
            if tally is None or n_wrong + tally.n_checking < pace.n_free:
                continue
            if tally.n_checking:
                return float("inf")
            due_s = max(due_s, tally.checked_s + pace.spacing_s(n_wrong))
        return due_s

    def _begin(self, attempt: LoginAttempt, now_s: float) -> None:
        self.leave(attempt)
        for key, pace in attempt.throttles.items():
            tally = self._tally(key, pace, now_s)
            tally.n_checking += 1
            tally.checked_s = now_s

    def _n_wrong(self, key: str) -> int:
        tally = self._tallies.get(key)
        if tally is None:
            return 0
        tally.forget(self._clock())
        return tally.n_wrong

    def _tally(self, key: str, pace: Throttle, now_s: float) -> _Tally:
        # Re-inserted, so that the dict stays sorted by last change: _forget_old stops at the first
        # recent one.
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
            # A running check has still to be counted out of it.
            if not tally.n_checking:
                old.append(key)
        for key in old:
            del self._tallies[key]
