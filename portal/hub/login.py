"""Logging in with the cluster's own name and password, through LDAP."""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import ldap3
from ldapauthenticator import LDAPAuthenticator
from traitlets import Float, List, Unicode

from portal.hub.accounts import read_account
from portal.hub.credentials import Credentials, LoginError, format_wait, read_credentials
from portal.hub.ldap_servers import LdapServerError, LdapServers, bind, close
from portal.hub.lockout import Lockout

T = TypeVar("T")

LOWEST_USER_UID = 1000
ANSWER_RESERVE_S = 0.3
N_LDAP_THREADS = 32
N_ACCOUNT_THREADS = 16


@dataclass(slots=True)
class _Attempt:
    deadline_s: float
    connections: list[ldap3.Connection] = field(default_factory=list)


_attempt: contextvars.ContextVar[_Attempt] = contextvars.ContextVar("attempt")


class PortalLDAPAuthenticator(LDAPAuthenticator):
    """LDAPAuthenticator that never blocks the hub, trusts only verified servers and slows guessing.

    Source:
        jupyterhub-ldapauthenticator 2.0.2 talks to LDAP in the hub's event loop, without time-outs,
        to one server, and counts no failures.
    """

    servers = List(
        Unicode(),
        help="LDAP servers (ldap:// or ldaps:// addresses) in the order to ask them.",
    ).tag(config=True)
    ca_certificates = Unicode(
        help="PEM file with the certificates that the servers' own must be signed by."
    ).tag(config=True)
    connect_timeout_s = Float(
        3.0, help="Longest wait for one server to take the connection, in seconds."
    ).tag(config=True)
    answer_timeout_s = Float(
        5.0, help="Longest time until the user has an answer, over all servers, in seconds."
    ).tag(config=True)
    support = Unicode(help="Whom users ask; part of messages.").tag(config=True)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._directory = LdapServers(self.servers)
        self._lockout = Lockout()
        self._ldap_threads = ThreadPoolExecutor(N_LDAP_THREADS, thread_name_prefix="ldap")
        self._account_threads = ThreadPoolExecutor(N_ACCOUNT_THREADS, thread_name_prefix="account")

    async def authenticate(self, handler: Any, data: dict[str, str]) -> dict[str, Any] | None:
        """Check a name and a password from the login form.

        Args:
            handler: The request's handler.
            data: The form: `username` and `password`.

        Returns:
            The user as JupyterHub wants it, or None if the name or the password is wrong.

        Raises:
            LoginError: If the answer is not known (503), the account cannot be used (403), or
                there were too many wrong passwords (429).
        """
        credentials = read_credentials(handler.request, data, self.normalize_username)
        if credentials is None:
            return None
        self._refuse_if_locked_out(credentials)
        name, address = credentials.name, credentials.address
        self._lockout.count(name, address)
        deadline_s = time.monotonic() + self.answer_timeout_s - ANSWER_RESERVE_S
        try:
            user = await self._ask_ldap(name, credentials.password, deadline_s)
        except LoginError:
            self._lockout.take_back(name, address)
            raise
        if user is None:
            return None
        self._lockout.forgive(name, address)
        return user | {"groups": await self._check_account(name, deadline_s)}

    def get_connection(self, userdn: str | None, password: str | None) -> ldap3.Connection | None:
        """Log in to the first server that answers; called in a thread by the base class.

        Args:
            userdn: The entry to log in as.
            password: Its password.

        Returns:
            The connection, or None if the password is wrong.

        Raises:
            LdapServerError: If no server answers in time or none can be trusted.
        """
        attempt = _attempt.get()
        servers = self._directory.in_order()
        failures: list[LdapServerError] = []
        for n_left, server in zip(range(len(servers), 0, -1), servers, strict=True):
            share_s = (attempt.deadline_s - time.monotonic()) / n_left
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
                attempt.connections.append(connection)
            return connection
        raise LdapServerError(
            "no LDAP server is left", is_untrusted=any(f.is_untrusted for f in failures)
        )

    async def check_allowed(self, username: str, auth_model: dict[str, Any] | None) -> bool:
        """Return whether a user whose password is right may use the portal.

        Args:
            username: The name.
            auth_model: What `authenticate` returned.

        Returns:
            True; anything else is an error.

        Raises:
            LoginError: If the site's settings do not admit this user.
        """
        if await super().check_allowed(username, auth_model or {}):
            return True
        raise LoginError(
            403,
            f"{username} is not on the list of users of this portal. Ask {self._whom} to add you.",
        )

    async def is_admin(self, handler: Any, authentication: dict[str, Any]) -> bool:
        """Return whether the settings name this user as an administrator.

        The answer is always yes or no, so that a name taken off the list loses its rights.

        Args:
            handler: The request's handler.
            authentication: What `authenticate` returned.

        Returns:
            True for administrators.
        """
        return authentication["name"] in self.admin_users

    @property
    def _whom(self) -> str:
        return self.support or "your administrator"

    def _refuse_if_locked_out(self, credentials: Credentials) -> None:
        wait_s = self._lockout.wait_s(credentials.name, credentials.address)
        if wait_s > 0:
            raise LoginError(
                429,
                f"Too many wrong passwords. Wait {format_wait(wait_s)}, then try again."
                f" If you forgot your password, ask {self._whom}.",
                retry_after_s=wait_s,
            )

    async def _ask_ldap(self, name: str, password: str, deadline_s: float) -> dict[str, Any] | None:
        attempt = _Attempt(deadline_s=deadline_s)
        context = contextvars.copy_context()
        context.run(_attempt.set, attempt)
        ask_base_class = partial(
            super().authenticate, None, {"username": name, "password": password}
        )

        def ask() -> dict[str, Any] | None:
            try:
                user: dict[str, Any] | None = asyncio.run(ask_base_class())
                return user
            finally:
                for connection in attempt.connections:
                    close(connection)

        try:
            return await _in_thread(self._ldap_threads, partial(context.run, ask), deadline_s)
        except asyncio.TimeoutError as error:
            raise self._no_answer("the LDAP server did not answer in time") from error
        except LdapServerError as error:
            if error.is_untrusted:
                raise LoginError(
                    503,
                    "The LDAP server's certificate is not trusted, so your password was not sent."
                    f" Nobody can log in until that is repaired: tell {self._whom}.",
                ) from error
            raise self._no_answer("the LDAP server did not answer") from error
        except (ldap3.core.exceptions.LDAPExceptionError, OSError) as error:
            self.log.error("LDAP failed after the login of %s: %s", name, error)
            raise self._no_answer("the LDAP server did not answer all questions") from error

    async def _check_account(self, name: str, deadline_s: float) -> list[str]:
        # No job could run as somebody whom the cluster's hosts do not know.
        deadline_s = max(deadline_s, time.monotonic() + 1)
        try:
            account = await _in_thread(
                self._account_threads, partial(read_account, name), deadline_s
            )
        except asyncio.TimeoutError as error:
            raise self._no_answer("the look-up of your UNIX account did not answer") from error
        except KeyError:
            account = None
        if account is None or account.name != name:
            raise LoginError(
                403,
                f"Your password is right, but {name} has no UNIX account on this host."
                f" Ask {self._whom} to add it.",
            )
        if account.uid < LOWEST_USER_UID:
            raise LoginError(
                403,
                f"{name} is an account of the system, and no session may run as it."
                " Log in with your own name.",
            )
        return list(account.groups)

    def _no_answer(self, what: str) -> LoginError:
        return LoginError(
            503,
            f"Nobody can log in just now: {what}. Your password may well be right; try again in a"
            f" minute. If this goes on, tell {self._whom}.",
            retry_after_s=60,
        )


async def _in_thread(threads: ThreadPoolExecutor, work: Callable[[], T], deadline_s: float) -> T:
    loop = asyncio.get_running_loop()
    timeout_s = deadline_s - time.monotonic()
    return await asyncio.wait_for(loop.run_in_executor(threads, work), timeout_s)
