"""The portal's public address: its certificate, and what it tells browsers and the hub."""

import http.client
import json
import re
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from urllib.parse import urlsplit

from portal.hub.admin.tokens import OPERATOR, read_token
from portal.hub.settings.hub import HubSettings, is_loopback
from portal.site.checks.finding import Finding, ok, problem, skipped, warning
from portal.site.checks.runner import in_thread
from spawner.errors import SiteError

SOON = timedelta(days=21)
# Half a year, the least that browsers' own lists of such sites ask for.
LEAST_HSTS_S = 180 * 24 * 3600
# For documentation only (RFC 5737): nobody comes from there.
FORGED_ADDRESS = "203.0.113.77"
_MAX_AGE = re.compile(r"max-age=\"?(\d+)", re.IGNORECASE)
_EXAMPLE = "Take share/nginx.conf of the installed version for the front end"
_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer at the public address.

    Attributes:
        hsts: Value of Strict-Transport-Security; empty if there is none.
        own_address: This host's, as the front end sees it.
        certificate_end: When the certificate expires, in UTC.
    """

    body: bytes
    hsts: str
    own_address: str
    certificate_end: datetime


def assess_end(what: str, end: datetime) -> Finding:
    """Return whether a certificate is valid for long enough.

    `what` names it in the finding.
    """
    left = end - datetime.now(UTC)
    day = f"{end:%Y-%m-%d}"
    if left <= timedelta(0):
        return problem(f"{what}: the certificate expired on {day}.", "Renew it.")
    if left < SOON:
        return warning(f"{what}: the certificate expires on {day}.", "Renew it before that day.")
    return ok(f"{what} answers, and its certificate is valid until {day}.")


def assess_way_in(hub: HubSettings) -> list[Finding]:
    """Return what is wrong with the settings for how users reach the portal."""
    found = []
    if not is_loopback(hub.public_address):
        found.append(
            warning(
                f"port {hub.public_port} is open on {hub.public_address} without TLS: passwords and"
                " cookies cross the network unencrypted.",
                "Put a front end with TLS in front, and set public_address in [hub] to 127.0.0.1.",
            )
        )
    if urlsplit(hub.public_url).scheme == "https" and not hub.trusted_proxies:
        found.append(
            warning(
                f"logins through {hub.public_url} all seem to come from its front end, and wrong"
                " passwords of one slow down others.",
                "Name the front end, as this host sees it, in trusted_proxies in [hub].",
            )
        )
    return found


def assess_hsts(value: str, url: str) -> list[Finding]:
    """Return whether browsers are told to use TLS by the `value` of Strict-Transport-Security."""
    age = _MAX_AGE.search(value)
    if age is not None and int(age[1]) >= LEAST_HSTS_S:
        return []
    return [
        warning(
            f"{url} sends no Strict-Transport-Security of half a year or more, so that browsers"
            " try the address without TLS again.",
            f"{_EXAMPLE}, or add the header there.",
        )
    ]


def assess_seen_address(seen: str, seen_forged: str, *, own: str, forged: str) -> Finding:
    """Return whether the hub knows where a request through the front end comes from."""
    if ip_address(own).is_loopback:
        return skipped(
            "the front end is asked from its own host, which tells nothing of others' addresses.",
            "Log in from another computer once and look for its address in hub.log.",
        )
    if seen_forged == forged:
        return warning(
            "anybody who comes through the front end can choose the address that the hub sees.",
            f"{_EXAMPLE}; it has to append to X-Forwarded-For what it saw itself.",
        )
    if seen != own:
        return warning(
            f"a request from {own} through the front end seems to come from {seen}, and so do all"
            " logins: wrong passwords of one slow down the others.",
            "Let the hub know its front ends, see 'TLS' in the guide.",
        )
    return ok(f"the hub sees where requests through the front end come from ({own}).")


async def check_front_end(hub: HubSettings) -> list[Finding]:
    """Check how users reach the portal, and what they are shown there."""
    found = assess_way_in(hub)
    if urlsplit(hub.public_url).scheme == "https":
        return found + await in_thread(lambda: probe_front_end(hub))
    untried = skipped(
        "no https address of the portal is known.",
        "Set public_url in [hub] to the address that users open.",
    )
    return [*found, untried]


def probe_front_end(hub: HubSettings) -> list[Finding]:
    """Open the login page at the public address, and ask the hub which client address it sees."""
    url = hub.public_url
    try:
        page = _get(hub, "login")
    # Before OSError, which it is a kind of: the server answers, and its certificate is at fault.
    except ssl.SSLError as error:
        reason = getattr(error, "verify_message", "") or error.reason or str(error)
        return [
            problem(
                f"{url}: browsers will not trust it: {reason}.",
                "Serve the whole certificate chain, issued for this name.",
            )
        ]
    except (OSError, http.client.HTTPException) as error:
        return [
            problem(
                f"{url} does not answer: {getattr(error, 'strerror', None) or error}.",
                "Start the front end. It forwards to public_port of [hub] on this host.",
            )
        ]
    found = [assess_end(url, page.certificate_end), *assess_hsts(page.hsts, url)]
    try:
        token = read_token(hub.state_dir, OPERATOR)
        seen, seen_forged = _seen_address(hub, token), _seen_address(hub, token, FORGED_ADDRESS)
    except (OSError, http.client.HTTPException, ValueError, KeyError, SiteError) as error:
        return [*found, warning(f"the hub does not answer at {url}: {error}.", "See 'proxy'.")]
    own = page.own_address
    return [*found, assess_seen_address(seen, seen_forged, own=own, forged=FORGED_ADDRESS)]


def _seen_address(hub: HubSettings, token: str, forged: str = "") -> str:
    headers = {"Authorization": f"token {token}"}
    if forged:
        # Tornado prefers X-Real-IP to what a front end appends to X-Forwarded-For.
        headers |= {"X-Forwarded-For": forged, "X-Real-IP": forged}
    return str(json.loads(_get(hub, "api/dsportal/status", headers).body)["asked_from"])


def _get(hub: HubSettings, path: str, headers: dict[str, str] | None = None) -> Answer:
    parts = urlsplit(hub.public_url)
    # With certificates verified: a token goes over this connection.
    context = ssl.create_default_context()
    connection = http.client.HTTPSConnection(
        parts.hostname or "", parts.port or 443, timeout=_TIMEOUT_S, context=context
    )
    try:
        # Before the request, which may be the last on this connection.
        connection.connect()
        certificate = connection.sock.getpeercert() or {}
        # An IPv6 socket shows an IPv4 address in this form.
        own = str(connection.sock.getsockname()[0]).removeprefix("::ffff:")
        connection.request("GET", f"{hub.hub_prefix}{path}", headers=headers or {})
        answer = connection.getresponse()
        return Answer(
            body=answer.read(),
            hsts=answer.headers.get("Strict-Transport-Security", ""),
            own_address=own,
            certificate_end=datetime.fromtimestamp(
                ssl.cert_time_to_seconds(str(certificate["notAfter"])), UTC
            ),
        )
    finally:
        connection.close()
