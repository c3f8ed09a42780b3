"""The table [login] of portal.toml."""

# ruff: noqa: RUF009 - setting() returns a dataclass field, not a shared value

from dataclasses import dataclass, fields
from enum import Enum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from portal.settings.validators import check_dn_templates, check_ldap_servers, check_user_names
from spawner.settings.schema import default_of, rule_of, setting

LDAP = "ldap"
WITH_LDAP = "required with LDAP"


class TlsMode(Enum):
    """Encryption of LDAP connections; plain text is not offered."""

    STARTTLS = "starttls"
    LDAPS = "ldaps"


@dataclass(frozen=True, kw_only=True)
class LoginSettings:
    """Who may log in, and the LDAP servers that know them."""

    authenticator: str = setting(
        'Authenticator that checks logins: "ldap", "pam", or the name of another one of JupyterHub,'
        ' such as "generic-oauth", "github" or "package.module.Class".',
        default=LDAP,
    )
    options: dict[str, Any] = setting(
        "Options of that authenticator, passed through under JupyterHub's own names.", default={}
    )
    servers: tuple[str, ...] = setting(
        "LDAP servers, asked in this order. If one does not answer, the next one is asked.",
        default=(),
        needed=WITH_LDAP,
        example=("ldap://127.0.0.1:389",),
        check=check_ldap_servers,
    )
    tls: TlsMode = setting(
        'How the connection is encrypted: "starttls" on port 389 or "ldaps" on port 636.',
        default=TlsMode.STARTTLS,
    )
    # Path() is "not given": the file can only hold an absolute path.
    ca_certificates: Path = setting(
        "File with the certificates (PEM) that the servers' own must be signed by.",
        default=Path(),
        needed=WITH_LDAP,
        example=Path("/etc/data-scientist-portal/ldap-ca.pem"),
    )
    user_dn_template: tuple[str, ...] = setting(
        "The entry of a user. {username} stands for the name typed in. One for each branch that "
        "has users, tried in this order.",
        default=(),
        needed=WITH_LDAP,
        example=("uid={username},ou=people,dc=portal,dc=example",),
        check=check_dn_templates,
    )
    allow_all: bool = setting(
        "Whether everybody whom the authenticator knows may log in.", default=False, example=True
    )
    allowed_users: tuple[str, ...] = setting(
        "Users who may log in.", default=(), check=check_user_names
    )
    allowed_groups: tuple[str, ...] = setting(
        "Groups whose members may log in: with LDAP their full names there (DN), else names of"
        " UNIX groups of this host.",
        default=(),
    )
    blocked_users: tuple[str, ...] = setting(
        "Users who may not log in, whatever admits them otherwise. When the hub starts, their "
        "sessions end, they are signed out, and their tokens are refused.",
        default=(),
        check=check_user_names,
    )
    recheck_minutes: float = setting(
        "Minutes after which the accounts of users who are logged in are checked again. Users who"
        " may no longer log in are signed out then, and their tokens are refused.",
        default=5.0,
        lowest=0.1,
        highest=1440,
    )
    reader_dn: str = setting(
        "LDAP entry as which the hub checks accounts again, since it keeps no users' passwords."
        " Its own password is LDAP_READER_PASSWORD in secrets.env. Empty: only UNIX accounts are"
        " checked again.",
        default="",
    )
    account_filter: str = setting(
        "LDAP filter that the entry of everybody who may log in matches, as reader_dn sees it, such"
        " as (userPassword=*) or (!(nsAccountLock=TRUE)).",
        default="(objectClass=*)",
    )
    connect_timeout_s: float = setting(
        "Longest wait for one LDAP server to accept the connection, in seconds.",
        default=3.0,
        lowest=0.1,
        highest=30,
    )
    # Not below a second: ldap3 waits for whole ones.
    answer_timeout_s: float = setting(
        "Longest wait for all LDAP servers together, in seconds. The user then reads that LDAP"
        " does not answer.",
        default=5.0,
        lowest=1,
        highest=60,
    )

    def __post_init__(self) -> None:
        if self.is_ldap:
            self._refuse_lacks()
        # JupyterHub would let everybody in without a word.
        if self.allow_all and (self.allowed_users or self.allowed_groups):
            raise ValueError(
                "allow_all = true lets everybody in, so allowed_users and allowed_groups would"
                " do nothing. Keep one or the other."
            )
        # Else only the first login would show that the two do not fit.
        scheme = "ldap" if self.tls is TlsMode.STARTTLS else "ldaps"
        for server in self.servers:
            if urlsplit(server).scheme != scheme:
                raise ValueError(
                    f'tls = "{self.tls.value}" needs servers that begin with {scheme}://,'
                    f" not {server!r}."
                )

    def _refuse_lacks(self) -> None:
        for key in fields(self):
            # Other authenticators do without these keys, so the keys have defaults.
            if rule_of(key).needed and getattr(self, key.name) == default_of(key):
                raise ValueError(f"it lacks the key '{key.name}'. {rule_of(key).doc}")

    @property
    def is_ldap(self) -> bool:
        """Whether logins are checked by LDAP."""
        return self.authenticator == LDAP

    @property
    def admits_somebody(self) -> bool:
        """Whether the file admits anybody but administrators."""
        return self.allow_all or bool(self.allowed_users or self.allowed_groups)
