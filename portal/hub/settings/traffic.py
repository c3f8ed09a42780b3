"""The table [traffic] of portal.toml: how much one user may ask of the hub."""

from dataclasses import dataclass

from spawner.settings.schema import setting


@dataclass(frozen=True, kw_only=True)
class TrafficSettings:
    """How much one user may ask of the hub, so that others are served meanwhile.

    Whoever is not logged in counts by address. A page's files count an eighth each. What is asked
    of sessions, and what the site's own programs ask, is not bounded.
    """

    # A home page costs the hub's only thread about 8 ms, so one user can take a sixth of it.
    user_requests_per_s: float = setting(
        "Requests per second that one user may keep sending.",
        default=20.0,
        lowest=0.1,
        highest=10_000,
    )
    user_burst: int = setting(
        "Requests that one user may send at once after a pause.",
        default=200,
        lowest=10,
        highest=100_000,
    )
    user_at_once: int = setting(
        "Requests of one user that the hub works on at the same time, pages that wait for a"
        " session among them.",
        default=50,
        lowest=5,
        highest=10_000,
    )
    address_requests_per_s: float = setting(
        "Requests per second without a login that one address may keep sending.",
        default=20.0,
        lowest=0.1,
        highest=10_000,
    )
    address_burst: int = setting(
        "Requests without a login that one address may send at once after a pause. A classroom"
        " behind one address needs about eight for each person.",
        default=2000,
        lowest=10,
        highest=100_000,
    )
    address_at_once: int = setting(
        "Requests without a login from one address that the hub works on at the same time, and"
        " connections that a host other than the proxy's may hold.",
        default=500,
        lowest=5,
        highest=10_000,
    )
