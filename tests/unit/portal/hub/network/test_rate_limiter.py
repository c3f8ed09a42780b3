"""How much one user may ask of the hub."""

import pytest

from portal.hub.network import rate_limiter
from portal.hub.network.gate import rate_limits, request_cost
from portal.hub.network.rate_limiter import OpenRequest, RateLimit, RateLimiter
from portal.hub.network.senders import Kind, network_prefix
from portal.hub.settings.traffic import TrafficSettings
from tests.support.clock import Clock

ALLOWANCE = RateLimit(per_s=10, burst=20, at_once=1000)


@pytest.fixture
def requests(clock: Clock) -> RateLimiter:
    return RateLimiter(clock)


def n_let_in(requests: RateLimiter, key: str, n: int, allowance: RateLimit = ALLOWANCE) -> int:
    """Send requests that end at once; return how many were let in."""
    entered = [requests.enter(key, allowance) for _ in range(n)]
    visits = [one for one in entered if isinstance(one, OpenRequest)]
    for visit in visits:
        visit.leave()
    return len(visits)


def test_a_burst_is_let_in_and_then_the_rate(requests: RateLimiter, clock: Clock) -> None:
    assert n_let_in(requests, "ada", 500) == 20

    clock.now_s += 1
    assert n_let_in(requests, "ada", 500) == 10


def test_the_wait_is_as_long_as_it_takes(requests: RateLimiter, clock: Clock) -> None:
    n_let_in(requests, "ada", 20)

    wait_s = requests.enter("ada", ALLOWANCE)

    assert wait_s == pytest.approx(0.1)
    clock.now_s += 0.1001
    assert n_let_in(requests, "ada", 1) == 1


def test_a_refusal_costs_nothing(requests: RateLimiter, clock: Clock) -> None:
    n_let_in(requests, "ada", 10_000)

    clock.now_s += 0.5
    assert n_let_in(requests, "ada", 100) == 5


def test_a_pause_does_not_save_up_more_than_the_burst(requests: RateLimiter, clock: Clock) -> None:
    n_let_in(requests, "ada", 1)

    clock.now_s += 3600
    assert n_let_in(requests, "ada", 100) == 20


def test_open_requests_are_bounded_until_they_are_left(requests: RateLimiter) -> None:
    allowance = RateLimit(per_s=1000, burst=1000, at_once=3)
    visits = [requests.enter("ada", allowance) for _ in range(3)]

    assert requests.enter("ada", allowance) == rate_limiter.AT_ONCE_WAIT_S
    first = visits[0]
    assert isinstance(first, OpenRequest)
    first.leave()
    first.leave()
    assert n_let_in(requests, "ada", 1, allowance) == 1
    assert isinstance(requests.enter("ada", allowance), OpenRequest)
    assert requests.enter("ada", allowance) == rate_limiter.AT_ONCE_WAIT_S


def test_made_up_addresses_do_not_fill_the_memory(
    requests: RateLimiter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_limiter, "MOST_BUCKETS", 100)
    for n in range(1000):
        n_let_in(requests, f"192.0.2.{n}", 1)

    assert len(requests._buckets) == 100


def test_a_class_room_behind_one_address_logs_in_at_the_same_moment() -> None:
    address = rate_limits(TrafficSettings())[Kind.ADDRESS]
    requests = RateLimiter(Clock())
    paths = ["/", "/hub/", "/hub/login", "/hub/login", "/hub/login?next=", "/hub/home"]
    paths += [f"/hub/static/{n}.js" for n in range(20)]

    for _ in range(200):
        for path in paths:
            entered = requests.enter("room", address, cost=request_cost(path, "/hub/"))
            assert isinstance(entered, OpenRequest)
            entered.leave()


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unknown", ""),
        ("", ""),
    ],
)
def test_an_address_counts_as_far_as_a_client_cannot_choose_it(address: str, network: str) -> None:
    assert network_prefix(address) == network
