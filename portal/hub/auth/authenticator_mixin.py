"""Mixin of all authenticators: UNIX account, throttled guessing, rechecks, errors for users."""

import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from jupyterhub.auth import Authenticator
from jupyterhub.handlers import BaseHandler
from jupyterhub.user import User
from jupyterhub.utils import maybe_future
from traitlets import Any as AnyTrait
from traitlets import Instance, List, Set, Unicode

from dsportal.amounts import format_wait
from portal.hub.auth.account_status import AccountStatus, AccountStatusCache, LoginPermission
from portal.hub.auth.client_address import client_address, parse_networks
from portal.hub.auth.credentials import Credentials, LoginError, refuse_name
from portal.hub.auth.known_browsers import read_browser, remember_browser
from portal.hub.auth.login_queue import LONGEST_WAIT_S, LoginQueue, LoginQueueFullError
from portal.hub.auth.login_throttle import CheckResult, LoginAttempt, LoginThrottle
from portal.hub.auth.threads import in_thread
from portal.hub.auth.unix_accounts import read_account
from portal.hub.hubs.placement import Hubs
from portal.hub.hubs.transfer import Vouched, send_home

T = TypeVar("T")

# UID_MIN of login.defs: lower ones are accounts of the system.
LOWEST_USER_UID = 1000
# A thread cannot be cancelled: in a name service that hangs, a look-up outlives its timeout.
N_ACCOUNT_THREADS = 16
# A request waits this long; an account without an answer is checked again later.
RECHECK_TIMEOUT_S = 5.0


class AuthenticatorMixin(Authenticator):
    """Base of the portal's authenticators: besides the right password a user needs an account."""

    support = Unicode(help="Whom users ask, as it appears in messages.").tag(config=True)
    trusted_proxies = List(
        Unicode(), help="Addresses or networks of front ends whose X-Forwarded-For is trusted."
    ).tag(config=True)
    full_admin_users = Set(
        Unicode(), help="Users with JupyterHub's role admin, who can act as every user."
    ).tag(config=True)

    hubs = Instance(Hubs, allow_none=True, help="All hubs of the portal; None for one.").tag(
        config=True
    )

    on_delete = AnyTrait(
        None, help="Called with the name of a user whom the hub forgets; None for nobody."
    ).tag(config=True)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._login_queue = LoginQueue(LoginThrottle())
        self._account_threads = ThreadPoolExecutor(N_ACCOUNT_THREADS, thread_name_prefix="account")
        self.standings = AccountStatusCache(self.ask_account_status)

    async def get_authenticated_user(
        self, handler: BaseHandler, data: Any
    ) -> dict[str, Any] | None:
        """Check a login as JupyterHub does; a user of another hub is sent there.

        Raises:
            Finish: If the browser is on its way to that hub.
        """
        model: dict[str, Any] | None = await super().get_authenticated_user(handler, data)
        if model and self.hubs is not None:
            # Who is in the settings is an administrator by those of the other hub.
            is_listed = model["name"] in self.full_admin_users
            sent = model | {"admin": None if is_listed else model["admin"] or None}
            n_steps = data.n_steps if isinstance(data, Vouched) else 0
            send_home(self.hubs, handler, sent, n_steps=n_steps)
        return model

    def delete_user(self, user: User) -> None:
        """Let `on_delete` know, too."""
        if self.on_delete is not None:
            self.on_delete(user.name)
        super().delete_user(user)

    async def refresh_user(self, user: User, handler: BaseHandler | None = None, **_: Any) -> Any:
        """Recheck a user; JupyterHub calls this every few minutes and before starts.

        Returns:
            False if the user may no longer log in, which ends cookies and tokens; True if nothing
            answers, so that a server that is down signs nobody out; else the groups.
        """
        status = await self.standings.of(user.name)
        if status.verdict is LoginPermission.MAY_NOT:
            self.log.warning("%s is signed out: %s", user.name, status.reason)
            return False
        if status.verdict is LoginPermission.UNKNOWN:
            self.log.warning("%s stays signed in unseen: %s", user.name, status.reason)
            return True
        return {"name": user.name, "groups": list(status.groups)}

    async def ask_account_status(self, name: str) -> AccountStatus:
        """Check an account without its password."""
        if name in self.blocked_users:
            return AccountStatus(
                verdict=LoginPermission.MAY_NOT, reason=f"{name} is in blocked_users of [login]."
            )
        deadline_s = time.monotonic() + self.recheck_timeout_s
        try:
            groups = await self.unix_groups(name, deadline_s)
        except LoginError as error:
            # 403 says that there is no such account; anything else, that nobody knows.
            if error.status_code != 403:
                return AccountStatus(
                    verdict=LoginPermission.UNKNOWN, reason="the name service did not answer."
                )
            return AccountStatus(
                verdict=LoginPermission.MAY_NOT,
                reason=f"{name} has no user account on this host.",
            )
        refusal = await self.why_refused(name, groups, deadline_s)
        return refusal or AccountStatus(verdict=LoginPermission.MAY, groups=tuple(groups))

    @property
    def recheck_timeout_s(self) -> float:
        """Longest wait for a recheck of an account, in seconds."""
        return RECHECK_TIMEOUT_S

    async def why_refused(
        self, name: str, groups: list[str], deadline_s: float
    ) -> AccountStatus | None:
        """Return why a user who has a UNIX account may not log in.

        Returns:
            A refusal, or verdict UNKNOWN if it cannot be found out by `deadline_s` on the monotonic
            clock; None if nothing is against it.
        """
        return None

    def refusal_by_lists(self, name: str) -> AccountStatus:
        """Return the refusal of a user who is on no list and in no group of the settings."""
        return AccountStatus(
            verdict=LoginPermission.MAY_NOT,
            reason=f"{name} is neither in allowed_users nor in a group of allowed_groups.",
        )

    async def check_allowed(self, username: str, authentication: dict[str, Any] | None) -> bool:
        """Return True if a user whose password is right may use the portal."""
        if await maybe_future(super().check_allowed(username, authentication or {})):
            return True
        raise LoginError(
            403,
            f"{username} is not on the list of users of this portal. "
            f"Ask {self.contact} to add you.",
        )

    def check_blocked_users(
        self, username: str, authentication: dict[str, Any] | None = None
    ) -> bool:
        """Return True if a user whose password is right is not kept out."""
        if super().check_blocked_users(username, authentication):
            return True
        raise LoginError(
            403,
            f"The administrators have closed this portal to {username}. Ask {self.contact} why.",
        )

    async def is_admin(self, handler: BaseHandler, authentication: dict[str, Any]) -> bool:
        """Return whether this user is a full administrator.

        Returns:
            Never None, which JupyterHub takes as "unchanged": who is taken off the list loses the
            rights.
        """
        if authentication["name"] in self.full_admin_users:
            return True
        return bool(await maybe_future(super().is_admin(handler, authentication)))

    @property
    def contact(self) -> str:
        """Whom users should ask, as an object: "ask {whom}"."""
        return self.support or "your administrator"

    async def check_in_turn(
        self, handler: BaseHandler, credentials: Credentials, ask: Callable[[], Awaitable[T | None]]
    ) -> T | None:
        """Check a password when its turn comes: at once, unless there were many wrong ones.

        `ask` does the check: it returns the user, or None if the password is wrong.

        Returns:
            The result of `ask`.
        """
        attempt = LoginAttempt(
            name=credentials.name,
            address=client_address(handler.request, parse_networks(self.trusted_proxies)),
            browser=read_browser(handler, credentials.name),
        )
        arrived_s = time.monotonic()
        try:
            await self._login_queue.wait(attempt)
        except LoginQueueFullError:
            raise self._no_turn(attempt) from None
        if (waited_s := time.monotonic() - arrived_s) >= 1:
            self.log.warning(
                "%s from %s: checked after %.0f s because of many wrong passwords",
                attempt.name,
                attempt.address,
                waited_s,
            )
        outcome = CheckResult.WRONG
        try:
            user = await ask()
            outcome = CheckResult.WRONG if user is None else CheckResult.RIGHT
        except LoginError:
            outcome = CheckResult.UNKNOWN
            raise
        finally:
            self._login_queue.finish(attempt, outcome)
        if user is None:
            self._say_if_slow(attempt)
            return None
        remember_browser(handler, attempt.name, attempt.browser)
        return user

    def _say_if_slow(self, attempt: LoginAttempt) -> None:
        spacing_s = self._login_queue.throttle.spacing_s(attempt)
        self.log.warning(
            "%s from %s: wrong password; the next one is checked after %.1f s",
            attempt.name,
            attempt.address,
            spacing_s,
        )
        # Else JupyterHub says that name or password are wrong, which is all there is to say.
        if spacing_s > 0:
            raise LoginError(
                403,
                "Invalid username or password. There have been many wrong attempts, so the next"
                f" answer takes {format_wait(spacing_s)} or more. The right password still works."
                f" If you forgot yours, ask {self.contact}.",
            )

    def _no_turn(self, attempt: LoginAttempt) -> LoginError:
        self.log.warning(
            "%s from %s: not checked, too many are waiting", attempt.name, attempt.address
        )
        return LoginError(
            429,
            "Your password was not checked because too many others are being tried for this name or"
            f" from your address. Try again in {format_wait(LONGEST_WAIT_S)}, or now in a browser"
            " in which you have logged in before. If this continues, tell "
            f"{self.contact}.",
            retry_after_s=LONGEST_WAIT_S,
        )

    async def unix_groups(self, name: str, deadline_s: float) -> list[str]:
        """Return the UNIX groups of a user. Without an account here the cluster could not run jobs.

        `deadline_s` is on the monotonic clock; the name service is given a second at least.

        Raises:
            LoginError: If the user has no account here, has a system account, has a name that
                cannot be served, or the name service did not answer.
        """
        # Not every authenticator has a login form, where names are refused before.
        refuse_name(name)
        # LDAP may have used up the time; the right password must not fail for that.
        deadline_s = max(deadline_s, time.monotonic() + 1)
        try:
            account = await in_thread(
                self._account_threads, partial(read_account, name), deadline_s
            )
        except (TimeoutError, OSError) as error:
            raise self.no_answer("your UNIX account could not be looked up") from error
        # ValueError: a name with a NUL byte, which another authenticator may let through.
        except (KeyError, ValueError):
            account = None
        # A name service that ignores case finds "ada" for "Ada": another name for JupyterHub.
        if account is None or account.name != name:
            raise LoginError(
                403,
                f"Your password is right, but {name} has no UNIX account on this host."
                f" Ask {self.contact} to add it.",
            )
        if account.uid < LOWEST_USER_UID:
            raise LoginError(
                403,
                f"{name} is a system account, and sessions cannot run as one."
                " Log in with your own name.",
            )
        return list(account.groups)

    def no_answer(self, what: str) -> LoginError:
        """Return the error of a login that could not be checked; it does not blame the user."""
        return LoginError(
            503,
            f"Nobody can log in at the moment: {what}. Your password may be right. Try again"
            f" in a minute. If this continues, tell {self.contact}.",
            retry_after_s=60,
        )
