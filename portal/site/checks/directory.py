"""Checks the LDAP servers with their certificates, and the named user's account."""

import asyncio
import contextlib
import pwd
from datetime import datetime

from portal.hub.auth.authenticator_mixin import LOWEST_USER_UID
from portal.hub.auth.ldap_servers import LdapServerError, certificate_end, parse_server
from portal.hub.auth.unix_accounts import read_account
from portal.hub.settings.login import LoginSettings
from portal.site.checks.finding import Finding, ok, problem, warning
from portal.site.checks.front_end import assess_end
from portal.site.checks.runner import in_thread
from spawner.account_names import objection

# Programs that keep a uid in 32 bits with a sign print it negative from here on.
_SIGN_BIT = 2**31


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
    """Look up an account on this host, and whether the portal can serve it."""
    if why := objection(name):
        return [_unserved(f"it {why}", name)]
    # JupyterHub turns what is typed into small letters.
    if name != name.lower():
        return [_unserved("it has capital letters in it", name)]
    try:
        account = await in_thread(lambda: pwd.getpwnam(name))
    except KeyError:
        return [await _no_account(name)]
    if account.pw_uid < LOWEST_USER_UID:
        return [
            problem(
                f"{name} is a system account (uid {account.pw_uid}), and sessions cannot run as"
                " one.",
                f"Name a user, or give this one a uid of {LOWEST_USER_UID} or more.",
            )
        ]
    said = ok(f"{name} is uid {account.pw_uid}, home {account.pw_dir}.")
    return [said] if account.pw_uid < _SIGN_BIT else [said, _large_uid(account)]


async def _no_account(name: str) -> Finding:
    # Python raises the same error for both.
    with contextlib.suppress(KeyError):
        try:
            await in_thread(lambda: read_account(name))
        except OSError:
            return problem(
                f"the name service of this host does not answer about {name}.",
                "Start it (sssd, nslcd), or the LDAP server that it asks: see the check 'ldap'.",
            )
    return problem(
        f"{name} has no account on this host, so no session of theirs can be submitted.",
        "Set up the name service (sssd, nslcd): getent passwd has to show the user.",
    )


def _unserved(why: str, name: str) -> Finding:
    return problem(
        f"the portal cannot serve the name '{name}': {why}. Nobody can log in with it.",
        "Give the account another name.",
    )


def _large_uid(account: pwd.struct_passwd) -> Finding:
    return warning(
        f"{account.pw_name} has the uid {account.pw_uid}; from {_SIGN_BIT} on, programs such as"
        " squeue print it as a negative number.",
        "The portal reads both. For scripts of the site's own, give new accounts smaller ones.",
    )
