"""Checks the LDAP servers with their certificates, and the named user's account."""

from __future__ import annotations

import asyncio
import pwd
from datetime import datetime

from portal.hub.auth.ldap_servers import LdapServerError, certificate_end, parse_server
from portal.hub.settings.site import LoginSettings
from portal.site.checks.certificates import assess_end
from portal.site.checks.finding import Finding, ok, problem, warning
from portal.site.checks.runner import in_thread


async def check_directory(login: LoginSettings) -> list[Finding]:
    """Check that each LDAP server shows a certificate that the settings trust.

    Returns:
        A finding for each server; a single one if other authenticators check the logins.
    """
    if not login.is_ldap:
        return [ok(f"Not asked: {login.authenticator} checks the logins.")]
    asked = await asyncio.gather(*(_probe(server, login) for server in login.servers))
    ends = [end for end in asked if isinstance(end, datetime)]
    return [
        _assess(server, end, n_good=len(ends))
        for server, end in zip(login.servers, asked, strict=True)
    ]


async def _probe(server: str, login: LoginSettings) -> datetime | LdapServerError:
    try:
        return await in_thread(
            lambda: certificate_end(
                parse_server(server),
                ca_file=str(login.ca_certificates),
                timeout_s=max(login.connect_timeout_s, login.answer_timeout_s),
            )
        )
    except LdapServerError as error:
        return error


def _assess(server: str, end: datetime | LdapServerError, *, n_good: int) -> Finding:
    if isinstance(end, datetime):
        return assess_end(server, end)
    if end.is_untrusted:
        return problem(
            f"{server} has a certificate that is not trusted: {end}",
            "Add the authority that signed it to ca_certificates of [login], and name the server"
            " as its certificate does.",
        )
    if n_good:
        return warning(f"{server} does not answer: {end}", "Start it; another one responds.")
    return problem(f"{server} does not answer: {end}", "Start it, or open its port to this host.")


async def check_user(name: str) -> list[Finding]:
    """Look up an account on this host."""
    try:
        account = await in_thread(lambda: pwd.getpwnam(name))
    except KeyError:
        return [
            problem(
                f"{name} has no account on this host, so no session of theirs can be submitted.",
                "Set up the name service (sssd, nslcd): getent passwd has to show the user.",
            )
        ]
    return [ok(f"{name} is uid {account.pw_uid}, home {account.pw_dir}.")]
