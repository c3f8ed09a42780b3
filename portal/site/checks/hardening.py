"""Judges how exposed a site is to strangers and neighbours, from facts that others collect."""

import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from pathlib import Path

from dsportal.start.tcp_table import TcpSocket
from portal.hub.settings.hub import HubSettings
from portal.hub.settings.login import LoginSettings
from portal.site.checks.finding import Finding, ok, problem, skipped, warning

# Half a year, the least that browsers' own lists of such sites ask for.
LEAST_HSTS_S = 180 * 24 * 3600
# Slurm's default, DbdPort in slurmdbd.conf.
SLURMDBD_PORT = 6819
_MAX_AGE = re.compile(r"max-age=\"?(\d+)", re.IGNORECASE)
# What JupyterHub's own scripts read.
_READ_BY_SCRIPTS = {"_xsrf"}
_FRONT_END = "Take share/nginx.conf of the installed version for the front end"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginPage:
    """The login page's answer, as a browser gets it.

    Attributes:
        cookies: Values of Set-Cookie.
        hsts: Value of Strict-Transport-Security; empty if there is none.
    """

    cookies: tuple[str, ...]
    hsts: str


def assess_login_page(page: LoginPage, url: str) -> list[Finding]:
    """Return what browsers are not told about cookies and TLS.

    `url` is an https address.
    """
    found = []
    open_cookies = _cookies_without(page.cookies, "secure")
    if open_cookies:
        found.append(
            warning(
                f"{url} sets {open_cookies} without Secure: typed without https, the address gives"
                " them to the network.",
                "Set public_url in [hub] to the https address, and restart the hub.",
            )
        )
    if loose := _cookies_without(page.cookies, "samesite"):
        found.append(
            warning(
                f"{url} sets {loose} without SameSite.",
                "Leave cookie_options of JupyterHub as the portal sets them.",
            )
        )
    if readable := _cookies_without(page.cookies, "httponly", but=_READ_BY_SCRIPTS):
        found.append(
            warning(
                f"{url} sets {readable} without HttpOnly, so scripts can read them.",
                "Leave cookie_options of JupyterHub as the portal sets them.",
            )
        )
    age = _MAX_AGE.search(page.hsts)
    if age is None or int(age[1]) < LEAST_HSTS_S:
        found.append(
            warning(
                f"{url} sends no Strict-Transport-Security of half a year or more, so that browsers"
                " try the address without TLS again.",
                f"{_FRONT_END}, or add the header there.",
            )
        )
    return found or [ok(f"{url} sends its cookies over TLS only, and browsers know that.")]


def _cookies_without(values: Iterable[str], attribute: str, *, but: Iterable[str] = ()) -> str:
    names = []
    for value in values:
        cookies: SimpleCookie = SimpleCookie()
        try:
            cookies.load(value)
        # Python refuses names that browsers accept; such a cookie is not JupyterHub's.
        except CookieError:
            continue
        names += [name for name, one in cookies.items() if not one[attribute] and name not in but]
    return ", ".join(sorted(set(names)))


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
            f"{_FRONT_END}; it has to append to X-Forwarded-For what it saw itself.",
        )
    if seen != own:
        return warning(
            f"a request from {own} through the front end seems to come from {seen}, and so do all"
            " logins: wrong passwords of one slow down the others.",
            "Let the hub know its front ends, see 'TLS' in the guide.",
        )
    return ok(f"the hub sees where requests through the front end come from ({own}).")


def assess_modes(modes: Mapping[Path, int]) -> list[Finding]:
    """Return which of the hub's private files others can read or change."""
    found = [
        problem(f"{path} is open to others ({stat.filemode(mode)}).", f"chmod go= {path}")
        for path, mode in modes.items()
        if stat.S_IMODE(mode) & 0o077
    ]
    return found or [ok("log, database, cookie secret and tokens are for their owner only.")]


def assess_listeners(listeners: Sequence[TcpSocket], hub: HubSettings) -> list[Finding]:
    """Return which parts can be reached from more networks than need them."""
    found = []
    proxy_port = int(hub.proxy_api_url.rstrip("/").rpartition(":")[2])
    if any(one.port == proxy_port and not one.address.is_loopback for one in listeners):
        found.append(
            problem(
                f"the proxy accepts commands on port {proxy_port} from other hosts.",
                "Set proxy_api_url in [hub] to an address of the loopback: http://127.0.0.1:8001.",
            )
        )
    if _listens_everywhere(listeners, hub.api_port):
        found.append(
            warning(
                f"the hub's own port {hub.api_port} is open on every network of this host.",
                "Set address in [hub] to the one on the network of the nodes.",
            )
        )
    if _listens_everywhere(listeners, SLURMDBD_PORT):
        found.append(
            warning(
                f"slurmdbd (port {SLURMDBD_PORT}) is open on every network of this host.",
                "Keep others out with a firewall, or set CommunicationParameters=NoInAddrAny in"
                " slurmdbd.conf, which takes the address of the host's name.",
            )
        )
    return found or [ok("hub, proxy and slurmdbd listen where they are needed.")]


def _listens_everywhere(listeners: Sequence[TcpSocket], port: int) -> bool:
    return any(one.port == port and one.address.is_unspecified for one in listeners)


def assess_leaving(login: LoginSettings) -> Finding:
    """Return whether the hub notices that somebody has left."""
    if login.is_ldap and not login.reader_dn:
        return warning(
            "users who leave LDAP stay signed in until the UNIX account is gone or the cookie"
            " expires, after 14 days.",
            "Set reader_dn in [login], see 'People who leave' in the guide.",
        )
    return ok(f"accounts are checked again every {login.recheck_minutes:g} minutes.")
