"""Admits or refuses requests to the hub, by who sends them and what they cost."""

import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tornado.httputil import HTTPHeaders, RequestStartLine

from dsportal.amounts import format_wait
from portal.hub.auth.client_address import Network
from portal.hub.network.rate_limiter import OpenRequest, RateLimit, RateLimiter
from portal.hub.network.senders import Kind, Sender, Senders
from portal.hub.settings.traffic import TrafficSettings

# A page comes with several files, which cost the hub little.
FILE_COST = 0.125
SIGN_IN = "api/oauth2/token"
LOG_EVERY_S = 60.0
MOST_LOGGED = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardSettings:
    """What the hub's server finds under `GUARDED` in the settings of its application.

    Attributes:
        trusted: Front ends whose X-Forwarded-For is believed.
    """

    traffic: TrafficSettings
    trusted: tuple[Network, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """A request that is let in.

    Attributes:
        request: The caller has to leave it.
        stranger: Address of a sender without a login; "" for a user.
    """

    request: OpenRequest
    stranger: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A refused request.

    Attributes:
        text: A sentence for its sender.
        retry_after_s: Whole seconds, at least 1.
    """

    text: str
    retry_after_s: int


class Gate:
    """Admits requests within each sender's allowance."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        guarding: GuardSettings,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._log: logging.Logger = settings["log"]
        self._base_url = str(settings["hub"].base_url)
        self._senders = Senders(settings, guarding.trusted, clock)
        self._traffic = RateLimiter(clock)
        self._allowances = rate_limits(guarding.traffic)
        self._clock = clock
        # By sender: when a line of the log was about it.
        self._logged_s: dict[Sender, float] = {}

    def enter(
        self, start_line: RequestStartLine, headers: HTTPHeaders, connection: Any
    ) -> Admission | Refusal | None:
        """Admit a request, or refuse it; None if it is not counted.

        `connection` is Tornado's, from which the peer's address is read.
        """
        cost = request_cost(start_line.path, self._base_url)
        if cost == 0:
            return None
        sender = self._senders.of(start_line, headers, connection)
        allowance = self._allowances.get(sender.kind)
        if allowance is None:
            return None
        # Sign-ins count apart: session servers name themselves in the body only, so they count by
        # node. One user of a node who hammers must not keep the others there out of their sessions.
        purpose = "sign-in" if start_line.path == f"{self._base_url}{SIGN_IN}" else "any"
        key = f"{sender.kind.value} {sender.name} {purpose}"
        entered = self._traffic.enter(key, allowance, cost=cost)
        if isinstance(entered, OpenRequest):
            is_stranger = sender.kind is Kind.ADDRESS
            return Admission(request=entered, stranger=sender.name if is_stranger else "")
        self._note(sender)
        return _refusal(sender, entered)

    def is_rest(self, path: str) -> bool:
        """Return whether a request is for the hub's REST API, whose errors are JSON."""
        return path.startswith(f"{self._base_url}api/")

    def _note(self, sender: Sender) -> None:
        # One line a minute: a log that fills up would be another way to harm others.
        now_s = self._clock()
        if now_s - self._logged_s.get(sender, -math.inf) < LOG_EVERY_S:
            return
        # At worst some are logged again sooner; a flood of addresses cannot fill memory.
        if len(self._logged_s) >= MOST_LOGGED:
            self._logged_s.clear()
        self._logged_s[sender] = now_s
        self._log.warning("429 to the %s %s: too many requests", sender.kind.value, sender.name)


def rate_limits(traffic: TrafficSettings) -> dict[Kind, RateLimit]:
    """Return the allowance of each kind of sender; the site's own services have none."""
    return {
        Kind.USER: RateLimit(
            per_s=traffic.user_requests_per_s,
            burst=traffic.user_burst,
            at_once=traffic.user_at_once,
        ),
        Kind.ADDRESS: RateLimit(
            per_s=traffic.address_requests_per_s,
            burst=traffic.address_burst,
            at_once=traffic.address_at_once,
        ),
    }


def request_cost(path: str, base_url: str) -> float:
    """Return what a request costs its sender: 1 for pages and REST, less for files.

    `base_url` has a "/" at both ends; `path` may have a query.

    Returns:
        0 for the hub's health: a refusal would cost the hub as much as the answer.
    """
    path = path.partition("?")[0]
    if path == f"{base_url}health":
        return 0.0
    folders = ("static/", "portal/static/", "help/images/", "logo")
    return FILE_COST if path.startswith(tuple(f"{base_url}{name}" for name in folders)) else 1.0


def _refusal(sender: Sender, wait_s: float) -> Refusal:
    retry_after_s = max(1, math.ceil(wait_s))
    whose = "You" if sender.kind is Kind.USER else "Your address"
    return Refusal(
        text=f"{whose} sent more requests than the portal serves for one user, so this one was"
        f" refused. Try again in {format_wait(retry_after_s)}, and make programs wait between"
        " requests.",
        retry_after_s=retry_after_s,
    )
