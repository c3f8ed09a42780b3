"""Checks the LDAP servers with their certificates, and the named user's account."""

import asyncio
from datetime import datetime

from portal.hub.auth.authenticator_mixin import LOWEST_USER_UID
from portal.hub.auth.ldap_servers import LdapServerError, certificate_end, parse_server
from portal.hub.auth.unix_accounts import read_account
from portal.hub.settings.login import LoginSettings
from portal.site.checks.finding import Finding, ok, problem, warning
from portal.site.checks.front_end import assess_end
from portal.site.checks.runner import in_thread
from spawner.account_names import objection


async def check_directory(login: LoginSettings) -> list[Finding]:
    """Check that each LDAP server shows a certificate that the settings trust; one finding each."""
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
        return warning(f"{server} does not answer: {end}", "Start it. Another one responds.")
    return problem(f"{server} does not answer: {end}", "Start it, or open its port to this host.")


async def check_user(name: str) -> list[Finding]:
    """Look up an account on this host, as a login does."""
    # JupyterHub turns what is typed into small letters.
    why = objection(name) or "has capital letters in it" * (name != name.lower())
    if why:
        return [
            problem(
                f"the portal cannot serve the name '{name}': it {why}. Nobody can log in with it.",
                "Give the account another name.",
            )
        ]
    try:
        account = await in_thread(lambda: read_account(name))
    except OSError:
        return [
            problem(
                f"the name service of this host does not answer about {name}.",
                "Start it (sssd, nslcd), or the LDAP server that it asks: see the check 'ldap'.",
            )
        ]
    except KeyError:
        return [
            problem(
                f"{name} has no account on this host, so no session of theirs can be submitted.",
                "Set up the name service (sssd, nslcd): getent passwd has to show the user.",
            )
        ]
    if account.uid < LOWEST_USER_UID:
        return [
            problem(
                f"{name} is a system account (uid {account.uid}), and sessions cannot run as one.",
                f"Name a user, or give this one a uid of {LOWEST_USER_UID} or more.",
            )
        ]
    return [ok(f"{name} is uid {account.uid}.")]
