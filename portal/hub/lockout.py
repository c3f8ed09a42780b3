"""Wrong passwords cost time: a few are free, each further one doubles the wait."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

FORGET_AFTER_S = 15 * 60.0
MOST_KEYS = 20_000
MOST_DOUBLINGS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """How patient the portal is.

    Args:
        n_free: Wrong passwords that cost nothing, 0 or more.
        longest_wait_s: Where the doubling ends, in seconds.
    """

    n_free: int
    longest_wait_s: float


PER_NAME_AND_ADDRESS = Allowance(n_free=5, longest_wait_s=300)
PER_NAME = Allowance(n_free=20, longest_wait_s=60)
PER_ADDRESS = Allowance(n_free=200, longest_wait_s=60)


@dataclass(slots=True)
class _Failures:
    n: int
    last_s: float


class Lockout:
    """Counts wrong passwords by name, by address and by both together.

    The pair is the strict one; the name alone stops many addresses that guess one password, and
    the address alone one address that tries many names. Nothing is kept on disk. A key is forgotten
    after FORGET_AFTER_S without a wrong password, and the number of keys has a limit, so that
    made-up names cannot fill the memory.

    Args:
        clock: Returns seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: dict[str, _Failures] = {}

    def wait_s(self, name: str, address: str) -> float:
        """Return how long somebody still has to wait before the next attempt.

        Args:
            name: The name typed in.
            address: Where the attempt comes from.

        Returns:
            Seconds, 0 if the attempt may be made now.
        """
        return max(
            self._wait_of_key_s(key, allowance) for key, allowance in _keys(name, address).items()
        )

    def count(self, name: str, address: str) -> None:
        """Count an attempt as wrong; done before it is checked, so that a burst counts in full.

        Args:
            name: The name typed in.
            address: Where the attempt comes from.
        """
        self._forget_old()
        now_s = self._clock()
        for key in _keys(name, address):
            failures = self._failures.pop(key, _Failures(0, now_s))
            failures.n += 1
            failures.last_s = now_s
            self._failures[key] = failures

    def take_back(self, name: str, address: str) -> None:
        """Undo one count, where the password could not be checked.

        Args:
            name: The name typed in.
            address: Where the attempt came from.
        """
        for key in _keys(name, address):
            failures = self._failures.get(key)
            if failures is not None:
                failures.n -= 1
                if failures.n <= 0:
                    del self._failures[key]

    def forgive(self, name: str, address: str) -> None:
        """Forget the wrong passwords of somebody who gave the right one.

        Args:
            name: The name typed in.
            address: Where the attempt came from.
        """
        self.take_back(name, address)
        pair = next(iter(_keys(name, address)))
        self._failures.pop(pair, None)

    def _wait_of_key_s(self, key: str, allowance: Allowance) -> float:
        failures = self._failures.get(key)
        if failures is None or failures.n < allowance.n_free:
            return 0.0
        n_doublings = min(failures.n - allowance.n_free, MOST_DOUBLINGS)
        penalty_s = min(2.0**n_doublings, allowance.longest_wait_s)
        return max(0.0, failures.last_s + penalty_s - self._clock())

    def _forget_old(self) -> None:
        # `count` moves a key to the end, so that the oldest stand first.
        horizon_s = self._clock() - FORGET_AFTER_S
        while self._failures:
            oldest = next(iter(self._failures))
            is_old = self._failures[oldest].last_s < horizon_s
            if not is_old and len(self._failures) < MOST_KEYS:
                break
            del self._failures[oldest]


def _keys(name: str, address: str) -> dict[str, Allowance]:
    return {
        f"{name} from {address}": PER_NAME_AND_ADDRESS,
        f"{name} from anywhere": PER_NAME,
        f"anybody from {address}": PER_ADDRESS,
    }
