"""Values are requested once for many callers, and again when they have expired."""

import asyncio
import gc

import pytest

from dsportal.slurm.errors import PortalError
from spawner.cache import Cache
from spawner.errors import SlurmUnavailableError

DOWN = SlurmUnavailableError("Slurm did not answer.")


class Source:
    """Answers 1, 2, 3 ... as often as it is asked, when it is let."""

    def __init__(self) -> None:
        self.n_asked = 0
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.error: PortalError | None = None
        self.now_s = self.takes_s = 0.0

    def cache(
        self,
        *,
        failure_s: float = 0,
        stale_s: float = 1000,
        busy_factor: float = 1,
        rest_factor: float = 0,
    ) -> Cache[str, int]:
        return Cache(
            self.ask,
            fresh_s=300,
            busy_factor=busy_factor,
            stale_s=stale_s,
            rest_factor=rest_factor,
            failure_s=failure_s,
            n_kept=2,
            clock=lambda: self.now_s,
        )

    async def ask(self, key: str) -> int:
        self.n_asked += 1
        number = self.n_asked
        self.now_s += self.takes_s
        await self.may_answer.wait()
        if self.error is not None:
            raise self.error
        return number


@pytest.fixture
async def source() -> Source:
    return Source()


async def test_many_callers_at_once_share_one_request(source: Source) -> None:
    cache = source.cache()

    assert await asyncio.gather(*(cache.get("ada") for _ in range(100))) == [1] * 100
    assert await cache.get("grace") == 2


async def test_a_request_that_began_ahead_is_not_made_twice(source: Source) -> None:
    cache = source.cache()

    cache.begin("ada")
    await asyncio.sleep(0)
    assert source.n_asked == 1
    assert await cache.get("ada") == 1
    cache.begin("ada")
    assert await cache.get("ada") == 1


async def test_a_request_that_began_ahead_and_failed_fails_only_for_who_waits(
    source: Source, caplog: pytest.LogCaptureFixture
) -> None:
    cache, source.error = source.cache(), DOWN

    cache.begin("ada")
    with pytest.raises(SlurmUnavailableError):
        await cache.get("ada")
    cache.begin("grace")
    for _ in range(3):
        await asyncio.sleep(0)
    gc.collect()

    assert not caplog.records


async def test_a_value_is_returned_until_it_expires(source: Source) -> None:
    cache = source.cache()
    assert await cache.get("ada") == 1

    source.now_s = 299
    assert await cache.get("ada") == 1
    source.now_s = 300
    assert cache.fresh("ada") is None
    assert await cache.get("ada") == 2


async def test_a_value_can_be_made_to_expire(source: Source) -> None:
    cache = source.cache()
    await cache.get("ada")

    cache.expire("ada")
    cache.expire("grace")

    assert cache.fresh("ada") is None
    assert cache.latest("ada") == 1
    assert await cache.get("ada") == 2


async def test_a_value_that_took_long_stays_for_a_while_after_it_was_made_to_expire(
    source: Source,
) -> None:
    cache = source.cache(rest_factor=10)
    source.takes_s = 2
    await cache.get("ada")

    source.now_s = 21
    cache.expire("ada")
    assert cache.fresh("ada") == 1
    source.now_s = 22
    assert cache.fresh("ada") is None


async def test_a_request_continues_although_every_caller_was_cancelled(source: Source) -> None:
    cache = source.cache()
    source.may_answer.clear()
    only = asyncio.ensure_future(cache.get("ada"))
    await asyncio.sleep(0)

    only.cancel()
    await asyncio.sleep(0)
    source.may_answer.set()

    assert await cache.get("ada") == 1
    assert source.n_asked == 1


async def test_without_patience_the_caller_gets_the_last_value_or_none(source: Source) -> None:
    cache = source.cache()
    source.may_answer.clear()
    assert await cache.get_within(0.01, "ada") is None
    source.may_answer.set()
    assert await cache.get_within(5, "ada") == 1

    source.now_s = 500
    source.may_answer.clear()
    assert await cache.get_within(0.01, "ada") == 1
    assert await cache.get_within(0.01, "ada") == 1
    assert source.n_asked == 2, "a request that is under way is not made twice"
    source.may_answer.set()
    assert await cache.get("ada") == 2


async def test_an_expired_value_is_of_use_only_for_a_while(source: Source) -> None:
    cache = source.cache(stale_s=600)
    await cache.get("ada")

    source.now_s = 599
    assert cache.latest("ada") == 1
    source.now_s = 600
    assert cache.latest("ada") is None


async def test_a_failure_is_not_remembered_and_leaves_the_last_value(source: Source) -> None:
    cache = source.cache()
    await cache.get("ada")
    source.now_s, source.error = 500, DOWN

    for _ in range(2):
        with pytest.raises(SlurmUnavailableError):
            await cache.get("ada")

    assert source.n_asked == 3
    assert cache.latest("ada") == 1
    source.error = None
    assert await cache.get("ada") == 4


async def test_a_failure_is_remembered_for_the_time_that_was_asked_for(source: Source) -> None:
    cache = source.cache(failure_s=30)
    source.error = DOWN
    for _ in range(2):
        with pytest.raises(SlurmUnavailableError):
            await cache.get("ada")
    assert source.n_asked == 1

    source.error, source.now_s = None, 30
    assert await cache.get("ada") == 2


async def test_a_failure_that_nobody_waits_for_any_more_is_not_logged(source: Source) -> None:
    logged: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: logged.append(context))
    cache = source.cache()
    source.may_answer.clear()
    source.error = DOWN
    only = asyncio.ensure_future(cache.get("ada"))
    await asyncio.sleep(0)

    only.cancel()
    source.may_answer.set()
    for _ in range(5):
        await asyncio.sleep(0)
    gc.collect()

    assert source.n_asked == 1
    assert logged == []


async def test_only_so_many_values_are_kept(source: Source) -> None:
    cache = source.cache()
    for key in ("ada", "grace", "linus"):
        await cache.get(key)

    assert cache.latest("ada") is None
    assert (cache.latest("grace"), cache.latest("linus")) == (2, 3)


async def test_values_and_failures_can_be_forgotten(source: Source) -> None:
    cache = source.cache(failure_s=300)
    cache.put(7, "grace")
    source.error = DOWN
    with pytest.raises(SlurmUnavailableError):
        await cache.get("ada")
    source.error = None

    cache.forget(lambda key: key == "ada")

    assert await cache.get("ada") == 2
    assert await cache.get("grace") == 7


async def ask_every_second(source: Source, cache: Cache[str, int], n_seconds: int) -> list[float]:
    """Return when the source was asked."""
    asked_s = []
    for _ in range(n_seconds):
        n_before = source.n_asked
        await cache.get("ada")
        if source.n_asked > n_before:
            asked_s.append(source.now_s)
        source.now_s += 1
    return asked_s


async def test_while_callers_keep_asking_values_are_fresh_for_longer(source: Source) -> None:
    cache = source.cache(busy_factor=6)

    assert await ask_every_second(source, cache, 6000) == [0, 300, 1200, 3000, 4800]


async def test_after_a_pause_a_value_is_fresh_as_at_first(source: Source) -> None:
    cache = source.cache(busy_factor=6)
    await ask_every_second(source, cache, 1201)
    source.now_s = 10_000

    assert await ask_every_second(source, cache, 400) == [10_000, 10_300]


async def test_what_was_made_to_expire_is_fresh_as_at_first(source: Source) -> None:
    cache = source.cache(busy_factor=6)
    await ask_every_second(source, cache, 1201)
    cache.expire("ada")

    assert await ask_every_second(source, cache, 400) == [1201, 1501]
