"""Rate limits: a token bucket and a count of open requests for each sender."""

import time
from collections.abc import Callable
from dataclasses import dataclass

# Retry-After for too many open requests: when one ends cannot be known.
AT_ONCE_WAIT_S = 1.0
# Old buckets are full again and can be dropped; the limit also holds against a million addresses.
MOST_BUCKETS = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimit:
    """Limits of one user, or of one address."""

    per_s: float
    burst: float
    at_once: int


@dataclass(slots=True)
class _Bucket:
    n_left: float
    seen_s: float
    n_open: int = 0


class OpenRequest:
    """An admitted request; `leave` has to be called at its end."""

    __slots__ = ("_bucket",)

    def __init__(self, bucket: _Bucket) -> None:
        self._bucket: _Bucket | None = bucket
        bucket.n_open += 1

    def leave(self) -> None:
        """Report that the request is over; further calls do nothing."""
        if self._bucket is not None:
            self._bucket.n_open -= 1
            self._bucket = None


class RateLimiter:
    """Admits requests, or says how long to wait.

    A refused request costs nothing, so that waiting helps even those who hammer.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # The longest unseen first.
        self._buckets: dict[str, _Bucket] = {}

    def enter(self, key: str, allowance: RateLimit, *, cost: float = 1.0) -> OpenRequest | float:
        """Admit a request if its sender's bucket has room.

        `key` names the sender; `cost`, 0 to 1, is taken from the burst.

        Returns:
            The visit, or the seconds to wait, above 0.
        """
        now_s = self._clock()
        # Popped and set again below, which moves it to the end.
        bucket = self._buckets.pop(key, None)
        if bucket is None:
            bucket = _Bucket(allowance.burst, now_s)
            self._forget_old(now_s)
        self._buckets[key] = bucket
        earned = (now_s - bucket.seen_s) * allowance.per_s
        bucket.n_left = min(allowance.burst, bucket.n_left + earned)
        bucket.seen_s = now_s
        # First: a request that is refused takes nothing from the bucket.
        if bucket.n_open >= allowance.at_once:
            return AT_ONCE_WAIT_S
        if bucket.n_left < cost:
            return (cost - bucket.n_left) / allowance.per_s
        bucket.n_left -= cost
        return OpenRequest(bucket)

    def _forget_old(self, now_s: float) -> None:
        while len(self._buckets) >= MOST_BUCKETS:
            del self._buckets[next(iter(self._buckets))]
