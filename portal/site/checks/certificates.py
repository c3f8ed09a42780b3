"""The portal's public address: how users reach it, and when certificates expire."""

import socket
import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from urllib.parse import urlsplit

from portal.hub.settings.hub import HubSettings
from portal.site.checks.finding import Finding, ok, problem, skipped, warning
from portal.site.checks.runner import in_thread

SOON = timedelta(days=21)
_TIMEOUT_S = 5.0


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
    if not _is_loopback(hub.public_address):
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


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


async def check_front_end(hub: HubSettings) -> list[Finding]:
    """Check how users reach the portal, and the certificate that they are shown."""
    return [*assess_way_in(hub), await _probe_certificate(hub.public_url)]


async def _probe_certificate(public_url: str) -> Finding:
    parts = urlsplit(public_url)
    if parts.scheme != "https":
        return skipped(
            "no https address of the portal is known.",
            "Set public_url in [hub] to the address that users open.",
        )
    host, port = parts.hostname or "", parts.port or 443
    try:
        return assess_end(public_url, await in_thread(lambda: served_certificate_end(host, port)))
    # Before OSError, which it is a kind of: the server answers, and its certificate is at fault.
    except ssl.SSLError as error:
        reason = getattr(error, "verify_message", "") or error.reason or str(error)
        return problem(
            f"{public_url}: browsers will not trust it: {reason}.",
            "Serve the whole certificate chain, issued for this name.",
        )
    except OSError as error:
        return problem(
            f"{public_url} does not answer: {error.strerror or error}.",
            "Start the front end. It forwards to public_port of [hub] on this host.",
        )


def served_certificate_end(host: str, port: int) -> datetime:
    """Return when the certificate that a server shows expires, in UTC."""
    context = ssl.create_default_context()
    with (
        socket.create_connection((host, port), timeout=_TIMEOUT_S) as plain,
        context.wrap_socket(plain, server_hostname=host) as connection,
    ):
        return certificate_expiry(connection)


def certificate_expiry(connection: ssl.SSLSocket) -> datetime:
    """Return when the other side's verified certificate expires, in UTC."""
    certificate = connection.getpeercert() or {}
    return datetime.fromtimestamp(ssl.cert_time_to_seconds(str(certificate["notAfter"])), UTC)
