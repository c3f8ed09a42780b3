"""Collects what strangers and neighbours can see of a site; `hardening` judges it."""

import asyncio
import contextlib
import http.client
import json
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from dsportal.start.tcp_table import LISTENS, read_tcp_table
from portal.hub.admin.tokens import OPERATOR, read_token
from portal.hub.settings.hub import HubSettings
from portal.hub.settings.loader import Settings
from portal.site.checks.finding import Finding, skipped, warning
from portal.site.checks.hardening import (
    LoginPage,
    assess_leaving,
    assess_listeners,
    assess_login_page,
    assess_modes,
    assess_seen_address,
)
from portal.site.checks.runner import in_thread

LOG_DIR = Path("/var/log/data-scientist-portal")
SECRETS = Path("/etc/data-scientist-portal/secrets.env")
# For documentation only (RFC 5737): nobody comes from there.
FORGED_ADDRESS = "203.0.113.77"
_TIMEOUT_S = 5.0


async def check_hardening(settings: Settings) -> list[Finding]:
    """Check front end, files, ports and the recheck of accounts."""
    looks: list[Callable[[], list[Finding]]] = [
        lambda: probe_front_end(settings.hub),
        lambda: assess_modes(private_file_modes(settings.hub)),
        lambda: probe_listeners(settings.hub),
        lambda: [assess_leaving(settings.login)],
    ]
    found = await asyncio.gather(*(in_thread(look) for look in looks))
    return [one for some in found for one in some]


def probe_front_end(hub: HubSettings) -> list[Finding]:
    """Open the login page at the public address, and ask the hub which client address it sees."""
    if urlsplit(hub.public_url).scheme != "https":
        return [
            skipped(
                "cookies and TLS were not checked: no https address of the portal is known.",
                "Put a front end with TLS in front of the portal, and set public_url in [hub].",
            )
        ]
    try:
        _, _, page = _get(hub.public_url, f"{hub.hub_prefix}login")
        findings = assess_login_page(page, hub.public_url)
        token = read_token(hub.state_dir, OPERATOR)
        seen, own = _seen_address(hub, token)
        seen_forged, _ = _seen_address(hub, token, forged=FORGED_ADDRESS)
    except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
        return [
            warning(
                f"{hub.public_url} could not be checked: {error}.",
                "See what the check 'tls' says about it.",
            )
        ]
    return [
        *findings,
        assess_seen_address(seen, seen_forged, own=own, forged=FORGED_ADDRESS),
    ]


def private_file_modes(hub: HubSettings) -> dict[Path, int]:
    """Return the modes of the hub's private files."""
    paths = [
        hub.state_dir,
        hub.sqlite_path,
        # SQLite keeps pages of the database, tokens' hashes among them, in these files too.
        *(Path(f"{hub.sqlite_path}{end}") for end in ("-wal", "-shm", "-journal")),
        hub.state_dir / "cookie_secret",
        *sorted(hub.state_dir.glob("*-token")),
        LOG_DIR / "hub.log",
        SECRETS,
    ]
    modes = {}
    for path in paths:
        with contextlib.suppress(OSError):
            modes[path] = path.stat().st_mode
    return modes


def probe_listeners(hub: HubSettings) -> list[Finding]:
    """Check who listens for connections on this host."""
    return assess_listeners([one for one in read_tcp_table() if one.state == LISTENS], hub)


def _seen_address(hub: HubSettings, token: str, *, forged: str = "") -> tuple[str, str]:
    headers = {"Authorization": f"token {token}"}
    if forged:
        # Tornado prefers X-Real-IP to what a front end appends to X-Forwarded-For.
        headers |= {"X-Forwarded-For": forged, "X-Real-IP": forged}
    body, own, _ = _get(hub.public_url, f"{hub.hub_prefix}api/dsportal/status", headers)
    return str(json.loads(body)["asked_from"]), own


def _get(
    url: str, path: str, headers: dict[str, str] | None = None
) -> tuple[bytes, str, LoginPage]:
    parts = urlsplit(url)
    connection = http.client.HTTPSConnection(
        parts.hostname or "",
        parts.port or 443,
        timeout=_TIMEOUT_S,
        # With certificates verified: a token goes over this connection.
        context=ssl.create_default_context(),
    )
    try:
        # Before the request, to learn this host's own address on that route.
        connection.connect()
        own = _own_end(connection.sock)
        connection.request("GET", f"{parts.path.rstrip('/')}{path}", headers=headers or {})
        answer = connection.getresponse()
        page = LoginPage(
            cookies=tuple(answer.headers.get_all("Set-Cookie") or ()),
            hsts=answer.headers.get("Strict-Transport-Security", ""),
        )
        return answer.read(), own, page
    finally:
        connection.close()


def _own_end(sock: socket.socket) -> str:
    # An IPv6 socket shows an IPv4 address in this form.
    return str(sock.getsockname()[0]).removeprefix("::ffff:")
