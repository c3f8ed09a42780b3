"""Identifies who sends a request: the user of its token or login cookie, else an address."""

import hashlib
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from ipaddress import IPv6Address, ip_address
from typing import Any

from jupyterhub import orm
from sqlalchemy.exc import SQLAlchemyError
from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine, parse_cookie
from tornado.web import decode_signed_value

from portal.hub.auth.client_address import Network, client_address

# Each handler of the hub asks the database anyway; the gate should cost less than that. A session
# reports its activity every five minutes.
REMEMBERED_S = 900.0
MOST_REMEMBERED = 20_000
_TOKEN = re.compile(r"(?:token|bearer)\s+(\S+)", re.IGNORECASE)
# One line or host usually has a whole /64 to choose addresses from.
_IPV6_PREFIX_BITS = 64


class Kind(Enum):
    """Kinds of senders; each has its own allowance."""

    USER = "user"
    SERVICE = "service"
    ADDRESS = "address"


@dataclass(frozen=True, slots=True)
class Sender:
    """Sender of a request.

    Attributes:
        name: User, service, or address.
    """

    kind: Kind
    name: str


class Senders:
    """Identifies senders in the hub's database, and remembers the answers.

    Only what the hub has issued counts: a forged token or cookie is nobody's, so it neither helps
    its sender nor harms the user it names.

    Args:
        trusted: Front ends whose X-Forwarded-For is believed.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        trusted: tuple[Network, ...],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._trusted = trusted
        self._clock = clock
        self._remembered: dict[bytes, tuple[Sender, float]] = {}

    def of(self, start_line: RequestStartLine, headers: HTTPHeaders, connection: Any) -> Sender:
        """Return the sender of a request that came on `connection`."""
        return (
            self._of_token(headers)
            or self._of_cookie(headers)
            or self._of_address(
                HTTPServerRequest(connection=connection, start_line=start_line, headers=headers)
            )
        )

    def _of_token(self, headers: HTTPHeaders) -> Sender | None:
        match = _TOKEN.fullmatch(headers.get("Authorization", ""))
        return self._recall(match[1], self._find_token) if match else None

    def _of_cookie(self, headers: HTTPHeaders) -> Sender | None:
        text = headers.get("Cookie", "")
        name = self._settings["hub"].cookie_name
        if name not in text:
            return None
        cookies = parse_cookie(text)
        value = cookies.get(name) or cookies.get(f"__Host-{name}")
        cookie_id = decode_signed_value(
            self._settings["cookie_secret"],
            name,
            value,
            max_age_days=self._settings["cookie_max_age_days"],
        )
        return self._recall(cookie_id.decode(), self._find_cookie) if cookie_id else None

    def _recall(self, secret: str, find: Callable[[str], Sender | None]) -> Sender | None:
        # Tokens themselves are not kept in memory.
        key = hashlib.sha256(secret.encode()).digest()
        now_s = self._clock()
        sender, until_s = self._remembered.get(key, (None, 0.0))
        if sender is not None and now_s < until_s:
            return sender
        try:
            sender = find(secret)
        except SQLAlchemyError:
            # The handler will meet the same error and report it.
            return None
        if sender is not None:
            if len(self._remembered) >= MOST_REMEMBERED:
                # Whoever is forgotten is only looked up once more.
                self._remembered.clear()
            self._remembered[key] = (sender, now_s + REMEMBERED_S)
        return sender

    def _find_token(self, token: str) -> Sender | None:
        found = orm.APIToken.find(self._settings["db"], token)
        if found is None:
            return None
        if found.service is not None:
            return Sender(Kind.SERVICE, found.service.name)
        return Sender(Kind.USER, found.user.name) if found.user is not None else None

    def _find_cookie(self, cookie_id: str) -> Sender | None:
        users = self._settings["db"].query(orm.User)
        user = users.filter(orm.User.cookie_id == cookie_id).first()
        return Sender(Kind.USER, user.name) if user is not None else None

    def _of_address(self, request: HTTPServerRequest) -> Sender:
        return Sender(Kind.ADDRESS, network_prefix(client_address(request, self._trusted)))


def network_prefix(address: str) -> str:
    """Return the part of an address that one client cannot choose.

    Returns:
        An IPv4 address as it is, the first 64 bits of an IPv6 one, "" for anything else.
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return ""
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped:
        return str(parsed.ipv4_mapped)
    n_host_bits = parsed.max_prefixlen - _IPV6_PREFIX_BITS
    return f"{IPv6Address(int(parsed) >> n_host_bits << n_host_bits)}/{_IPV6_PREFIX_BITS}"
