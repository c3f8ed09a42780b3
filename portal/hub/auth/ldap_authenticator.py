"""Login with name and password of the cluster's LDAP directory."""

import asyncio
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import ldap3
from jupyterhub.handlers import BaseHandler
from ldap3.utils.dn import escape_rdn
from ldapauthenticator import LDAPAuthenticator
from traitlets import Float, List, Unicode

from portal.hub.auth.account_status import AccountStatus, LoginPermission
from portal.hub.auth.authenticator_mixin import AuthenticatorMixin
from portal.hub.auth.credentials import LoginError, read_credentials
from portal.hub.auth.ldap_accounts import find_groups, matches
from portal.hub.auth.ldap_refusal import LdapRefusalError
from portal.hub.auth.ldap_servers import LdapServerError, LdapServers, bind, close
from portal.hub.auth.threads import in_thread
from portal.hub.hubs.transfer import Vouched
from portal.hub.settings.login import LoginSettings

# So that the user's own answer is there within answer_timeout_s.
ANSWER_RESERVE_S = 0.3
N_LDAP_THREADS = 16
READER_PASSWORD = "LDAP_READER_PASSWORD"  # noqa: S105 (the name of a variable)


T = TypeVar("T")


class PortalLDAPAuthenticator(AuthenticatorMixin, LDAPAuthenticator):
    """LDAPAuthenticator that never blocks the hub, verifies certificates and slows guessing.

    Source:
        jupyterhub-ldapauthenticator 2.0.2 talks to LDAP in the hub's event loop, without timeouts,
        to one server, and counts no failures.
    """

    servers = List(
        Unicode(),
        help="LDAP servers (ldap:// or ldaps:// addresses) in the order in which to ask them.",
    ).tag(config=True)
    ca_certificates = Unicode(
        help="PEM file with the certificates that the servers' own must be signed by."
    ).tag(config=True)
    connect_timeout_s = Float(
        LoginSettings.connect_timeout_s,
        help="Longest wait for one server to accept the connection, in seconds.",
    ).tag(config=True)
    answer_timeout_s = Float(
        LoginSettings.answer_timeout_s,
        help="Longest time until the user has an answer, over all servers, in seconds.",
    ).tag(config=True)

    reader_dn = Unicode(
        help="Entry that looks at accounts after their login. Its password is in the environment"
        f" as {READER_PASSWORD}. Empty: the directory is not asked."
    ).tag(config=True)
    account_filter = Unicode(
        "(objectClass=*)", help="Filter that the entry of everybody who may log in matches."
    ).tag(config=True)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        # The base class's own idea of a name; it is read from a form by `read_credentials`.
        self.valid_username_regex = ""
        self._directory = LdapServers(self.servers)
        self._ldap_threads = ThreadPoolExecutor(N_LDAP_THREADS, thread_name_prefix="ldap")
        # The base class calls get_connection, without telling it for which attempt.
        self._attempt = threading.local()

    async def authenticate(
        self, handler: BaseHandler, data: dict[str, str]
    ) -> dict[str, Any] | None:
        """Check name and password of the login form.

        Returns:
            JupyterHub's user model, or None if the name or the password is wrong.
        """
        if isinstance(data, Vouched):
            deadline_s = time.monotonic() + self.answer_timeout_s
            return await self._with_groups(data, data["name"], deadline_s)
        credentials = read_credentials(handler.request, data, self.normalize_username)
        if credentials is None:
            return None
        deadline_s = 0.0

        async def ask() -> dict[str, Any] | None:
            # Starts now: the wait for the turn is not the server's.
            nonlocal deadline_s
            deadline_s = time.monotonic() + self.answer_timeout_s - ANSWER_RESERVE_S
            return await self._ask_ldap(credentials.name, credentials.password, deadline_s)

        user = await self.check_in_turn(handler, credentials, ask)
        if user is None:
            return None
        return await self._with_groups(user, credentials.name, deadline_s)

    async def _with_groups(
        self, user: dict[str, Any], name: str, deadline_s: float
    ) -> dict[str, Any]:
        # A refusal that is remembered from before would sign the user out again at once.
        self.standings.forget(name)
        groups = await self.unix_groups(name, deadline_s)
        if self.reader_dn:
            await self._refuse_closed_account(name, groups, deadline_s)
        return user | {"groups": groups}

    def get_connection(self, userdn: str | None, password: str | None) -> ldap3.Connection | None:
        """Bind to the first server that answers; the base class calls this in a thread.

        Returns:
            None if the password is wrong.
        """
        servers = self._directory.in_order()
        failures: list[LdapServerError] = []
        for n_left, server in zip(range(len(servers), 0, -1), servers, strict=True):
            # What is left is shared out, so that one silent server cannot take the others' time.
            share_s = (self._attempt.deadline_s - time.monotonic()) / n_left
            if share_s <= 0:
                break
            try:
                connection = bind(
                    server,
                    userdn,
                    password,
                    ca_file=self.ca_certificates,
                    connect_timeout_s=min(self.connect_timeout_s, share_s),
                    answer_timeout_s=share_s,
                )
            except LdapServerError as error:
                self.log.error("LDAP failed: %s", error)
                self._directory.note(server, answered=False)
                failures.append(error)
                continue
            self._directory.note(server, answered=True)
            if connection is not None:
                self._attempt.connections.append(connection)
            return connection
        raise LdapServerError(
            "no LDAP server is left", is_untrusted=any(f.is_untrusted for f in failures)
        )

    async def _refuse_closed_account(self, name: str, groups: list[str], deadline_s: float) -> None:
        refusal = await self.why_refused(name, groups, deadline_s)
        # The right password is enough if the second check gets no answer.
        if refusal is not None and refusal.verdict is LoginPermission.MAY_NOT:
            self.log.warning("Refused after the right password: %s", refusal.reason)
            raise LoginError(
                403,
                f"Your password is right, but {name} is not on the list of users of this portal."
                f" Ask {self.contact} to add you.",
            )

    @property
    def recheck_timeout_s(self) -> float:
        """Longest wait for a recheck of an account, in seconds."""
        return float(self.answer_timeout_s)

    async def why_refused(
        self, name: str, groups: list[str], deadline_s: float
    ) -> AccountStatus | None:
        """Return what directory and settings have against an account.

        Returns:
            As in `AuthenticatorMixin`. Without `reader_dn` the groups in LDAP are unknown.
        """
        is_listed = self.allow_all or name in self.allowed_users
        if not self.reader_dn:
            # They may be in one of allowed_groups, which only LDAP knows.
            return None if is_listed or self.allowed_groups else self.refusal_by_lists(name)
        try:
            is_admitted, is_member = await self._read_account(name, deadline_s)
        # TimeoutError, from in_thread, is an OSError.
        except (
            LdapServerError,
            LdapRefusalError,
            ldap3.core.exceptions.LDAPExceptionError,
            OSError,
        ) as error:
            self.log.error("LDAP failed: %s", error)
            return AccountStatus(
                verdict=LoginPermission.UNKNOWN, reason="the LDAP server did not answer."
            )
        if not is_admitted:
            return AccountStatus(
                verdict=LoginPermission.MAY_NOT,
                reason=f"{name} has no entry in LDAP that matches account_filter.",
            )
        return None if is_listed or is_member else self.refusal_by_lists(name)

    async def _read_account(self, name: str, deadline_s: float) -> tuple[bool, bool]:
        user_dns = [one.format(username=escape_rdn(name)) for one in self.bind_dn_template]

        def ask() -> tuple[bool, bool]:
            connection = self.get_connection(
                self.reader_dn, os.environ.get(READER_PASSWORD) or None
            )
            if connection is None:
                raise LdapServerError(f"{self.reader_dn} cannot log in. See {READER_PASSWORD}")
            for user_dn in user_dns:
                if matches(connection, user_dn, self.account_filter):
                    member_of = find_groups(
                        connection,
                        self.allowed_groups,
                        group_filter=self.group_search_filter,
                        user_dn=user_dn,
                        name=name,
                    )
                    return True, bool(member_of)
            return False, False

        return await self._in_ldap_thread(ask, deadline_s)

    async def _in_ldap_thread(self, ask: Callable[[], T], deadline_s: float) -> T:
        def attempt() -> T:
            self._attempt.deadline_s, self._attempt.connections = deadline_s, []
            try:
                return ask()
            finally:
                # The base class closes none of them.
                for connection in self._attempt.connections:
                    close(connection)

        return await in_thread(self._ldap_threads, attempt, deadline_s)

    async def _ask_ldap(self, name: str, password: str, deadline_s: float) -> dict[str, Any] | None:
        ask_base_class = super().authenticate

        def ask() -> dict[str, Any] | None:
            # It blocks inside its coroutine, so it gets a loop of its own in this thread.
            user: dict[str, Any] | None = asyncio.run(
                ask_base_class(None, {"username": name, "password": password})
            )
            return user

        try:
            return await self._in_ldap_thread(ask, deadline_s)
        # Before OSError, of which it is a kind.
        except TimeoutError as error:
            raise self.no_answer("the LDAP server did not answer in time") from error
        except LdapRefusalError as error:
            self.log.warning("LDAP refused %s: %s", name, error)
            raise LoginError(403, error.reason.value.format(contact=self.contact)) from error
        except LdapServerError as error:
            if error.is_untrusted:
                raise LoginError(
                    503,
                    "The LDAP server's certificate is not trusted, so your password was not sent."
                    f" Nobody can log in until that is repaired: tell {self.contact}.",
                ) from error
            raise self.no_answer("the LDAP server did not answer") from error
        except (ldap3.core.exceptions.LDAPExceptionError, OSError) as error:
            self.log.error("LDAP failed after the login of %s: %s", name, error)
            raise self.no_answer("the LDAP server did not answer all questions") from error
