"""A keyed async cache: concurrent callers share one request; values expire."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar, TypeVarTuple

from dsportal.slurm.errors import PortalError

Key = TypeVarTuple("Key")
Value = TypeVar("Value")
# By how much longer a value is fresh than the one before it, while callers keep asking.
_GROWTH = 3.0


@dataclass(frozen=True, slots=True)
class _Kept(Generic[Value]):
    value: Value
    received_s: float
    took_s: float
    fresh_s: float
    expires_s: float


class Cache(Generic[*Key, Value]):
    """Caches what an async function returns, by its arguments.

    A caller that is cancelled, or whose patience ends, does not cancel the request: the others get
    its answer, and so does the next caller.

    Args:
        request: Fetches the value of a key; never returns None.
        busy_factor: While callers keep asking, each value is fresh for longer than the one before
            it, up to `fresh_s` times this factor, 1 or more: so many callers cost few requests, and
            a single one gets a new value. After a pause of that length or `expire` it is `fresh_s`
            again.
        stale_s: Seconds for which `latest` still returns a value.
        rest_factor: After `expire`, a value is still fresh for this many times as long as its
            request took, so that many who expire it cost a bounded share of the time.
        failure_s: Seconds for which a PortalError of `request` is raised again without another
            request, `fresh_s` at most; 0 for none.
        n_kept: Most values that are kept, 1 or more; the oldest go first.
    """

    def __init__(
        self,
        request: Callable[[*Key], Awaitable[Value]],
        *,
        fresh_s: float,
        busy_factor: float = 1.0,
        stale_s: float = float("inf"),
        rest_factor: float = 0.0,
        failure_s: float = 0.0,
        n_kept: int = 2000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._request = request
        self._fresh_s = fresh_s
        self._most_fresh_s = fresh_s * busy_factor
        self._stale_s = stale_s
        self._rest_factor = rest_factor
        # A failure that outlived a value would keep the next good answer out.
        self._failure_s = min(failure_s, fresh_s)
        self._n_kept = n_kept
        self._clock = clock
        self._kept: dict[tuple[*Key], _Kept[Value]] = {}
        self._failures: dict[tuple[*Key], tuple[float, PortalError]] = {}
        self._requests: dict[tuple[*Key], asyncio.Task[Value]] = {}

    async def get(self, *key: *Key) -> Value:
        """Return the value, which has not expired."""
        value = self.fresh(*key)
        if value is not None:
            return value
        failed_until_s, failure = self._failures.get(key, (0.0, None))
        if failure is not None and self._clock() < failed_until_s:
            # One error is raised many times, and each time would lengthen its traceback.
            raise failure.with_traceback(None)
        return await asyncio.shield(self._requested(key))

    def begin(self, *key: *Key) -> None:
        """Request the value now if it has expired, so that a `get` soon after waits less.

        What the request raises is for that `get`.
        """
        failed_until_s, _ = self._failures.get(key, (0.0, None))
        if self.fresh(*key) is None and self._clock() >= failed_until_s:
            task = self._requested(key)
            # Read here, since nobody else may: asyncio would log it.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def get_within(self, patience_s: float, *key: *Key) -> Value | None:
        """Return the value, or the `latest` one if a request takes longer than `patience_s`."""
        try:
            async with asyncio.timeout(patience_s):
                return await self.get(*key)
        except TimeoutError:
            return self.latest(*key)

    def fresh(self, *key: *Key) -> Value | None:
        """Return the value if there is one that has not expired; requests nothing."""
        kept = self._kept.get(key)
        return kept.value if kept and self._clock() < kept.expires_s else None

    def latest(self, *key: *Key) -> Value | None:
        """Return the last value, expired or not, up to `stale_s` old; requests nothing."""
        kept = self._kept.get(key)
        return kept.value if kept and self._clock() - kept.received_s < self._stale_s else None

    def put(self, value: Value, *key: *Key) -> None:
        """Keep a value as if it had been requested now."""
        self._put(value, 0.0, key)

    def _put(self, value: Value, took_s: float, key: tuple[*Key]) -> None:
        now_s = self._clock()
        # An update in place would keep the old position, and the first ones go first.
        fresh_s = self._next_fresh_s(self._kept.pop(key, None), now_s)
        while len(self._kept) >= self._n_kept:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = _Kept(
            value,
            received_s=now_s,
            took_s=took_s,
            fresh_s=fresh_s,
            expires_s=now_s + fresh_s,
        )

    def expire(self, *key: *Key) -> None:
        """Request the value again at the next `get`; it stays the `latest`."""
        if (kept := self._kept.get(key)) is not None:
            rest_s = self._rest_factor * kept.took_s
            expires_s = kept.received_s + rest_s if rest_s else float("-inf")
            self._kept[key] = replace(kept, expires_s=min(kept.expires_s, expires_s))

    def forget(self, is_meant: Callable[[*Key], bool]) -> None:
        """Drop values and failures whose key `is_meant` picks."""
        self._kept = {key: kept for key, kept in self._kept.items() if not is_meant(*key)}
        self._failures = {key: one for key, one in self._failures.items() if not is_meant(*key)}

    def _next_fresh_s(self, last: _Kept[Value] | None, now_s: float) -> float:
        if last is None or now_s - last.expires_s > self._most_fresh_s:
            return self._fresh_s
        return min(last.fresh_s * _GROWTH, self._most_fresh_s)

    def _requested(self, key: tuple[*Key]) -> asyncio.Task[Value]:
        task = self._requests.get(key)
        if task is None:
            task = asyncio.create_task(self._fetch(key))
            self._requests[key] = task
            # However it ends: a request that fails must not be waited for again.
            task.add_done_callback(lambda _: self._requests.pop(key))
        return task

    async def _fetch(self, key: tuple[*Key]) -> Value:
        began_s = self._clock()
        try:
            value = await self._request(*key)
        except PortalError as error:
            self._keep_failure(key, error)
            raise
        # An answer that came meanwhile says that the failure is over.
        self._failures.pop(key, None)
        self._put(value, self._clock() - began_s, key)
        return value

    def _keep_failure(self, key: tuple[*Key], error: PortalError) -> None:
        if not self._failure_s:
            return
        now_s = self._clock()
        # Those of the past make room; a failing Slurm would leave one for each user.
        self._failures = {
            other: (until_s, failure)
            for other, (until_s, failure) in self._failures.items()
            if now_s < until_s
        }
        self._failures[key] = (now_s + self._failure_s, error)
