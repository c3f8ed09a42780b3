"""What holds for every way of logging in: a UNIX account, no endless guessing, errors in words."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from jupyterhub.auth import Authenticator
from jupyterhub.utils import maybe_future
from traitlets import List, Set, Unicode

from portal.hub.accounts import read_account
from portal.hub.client_address import client_address, parse_networks
from portal.hub.credentials import Credentials, LoginError, format_wait
from portal.hub.guessing import Attempt, Guessing, Outcome
from portal.hub.known_browsers import read_browser, remember_browser
from portal.hub.turns import LONGEST_WAIT_S, NoTurnError, Turns

T = TypeVar("T")

LOWEST_USER_UID = 1000
N_ACCOUNT_THREADS = 16


class Admission(Authenticator):
    """Base of the portal's authenticators: who gave the right password still needs an account."""

    support = Unicode(help="Whom users ask; part of messages.").tag(config=True)
    trusted_proxies = List(
        Unicode(), help="Addresses or networks of front ends whose X-Forwarded-For is believed."
    ).tag(config=True)
    full_admin_users = Set(
        Unicode(), help="Users with JupyterHub's role admin, who can act as every user."
    ).tag(config=True)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._turns = Turns(Guessing())
        self._account_threads = ThreadPoolExecutor(N_ACCOUNT_THREADS, thread_name_prefix="account")

    async def check_allowed(self, username: str, authentication: dict[str, Any] | None) -> bool:
        """Return whether a user whose password is right may use the portal.

        Args:
            username: The name.
            authentication: What `authenticate` returned.

        Returns:
            True; anything else is an error.

        Raises:
            LoginError: If the site's settings do not admit this user.
        """
        if await maybe_future(super().check_allowed(username, authentication or {})):
            return True
        raise LoginError(
            403,
            f"{username} is not on the list of users of this portal. Ask {self.whom} to add you.",
        )

    async def is_admin(self, handler: Any, authentication: dict[str, Any]) -> bool:
        """Return whether this user is a full administrator, always with yes or no.

        Args:
            handler: The request's handler.
            authentication: What `authenticate` returned.

        Returns:
            True for full administrators; a name taken off the list loses its rights.
        """
        if authentication["name"] in self.full_admin_users:
            return True
        return bool(await maybe_future(super().is_admin(handler, authentication)))

    @property
    def whom(self) -> str:
        """Whom users ask."""
        return self.support or "your administrator"

    async def check_in_turn(
        self, handler: Any, credentials: Credentials, ask: Callable[[], Awaitable[T | None]]
    ) -> T | None:
        """Check a password when its turn has come: at once, unless there were many wrong ones.

        Args:
            handler: The request's handler.
            credentials: The name and the password.
            ask: Returns the user, or None where the password is wrong.

        Returns:
            What `ask` returned.

        Raises:
            LoginError: If `ask` raises it, which counts for nothing, if very many others wait
                (429), or if the password is wrong after many others (403).
        """
        attempt = Attempt(
            name=credentials.name,
            address=client_address(handler.request, parse_networks(self.trusted_proxies)),
            browser=read_browser(handler, credentials.name),
        )
        arrived_s = time.monotonic()
        try:
            await self._turns.wait(attempt)
        except NoTurnError:
            raise self._no_turn(attempt) from None
        if (waited_s := time.monotonic() - arrived_s) >= 1:
            self.log.warning(
                "%s from %s: checked after %.0f s, since there were many wrong passwords",
                attempt.name,
                attempt.address,
                waited_s,
            )
        outcome = Outcome.WRONG
        try:
            user = await ask()
            outcome = Outcome.WRONG if user is None else Outcome.RIGHT
        except LoginError:
            outcome = Outcome.UNKNOWN
            raise
        finally:
            self._turns.finish(attempt, outcome)
        if user is None:
            self._say_if_slow(attempt)
            return None
        remember_browser(handler, attempt.name, attempt.browser)
        return user

    def _say_if_slow(self, attempt: Attempt) -> None:
        spacing_s = self._turns.guessing.spacing_s(attempt)
        self.log.warning(
            "%s from %s: wrong password; the next check is made after %.1f s",
            attempt.name,
            attempt.address,
            spacing_s,
        )
        if spacing_s > 0:
            raise LoginError(
                403,
                "Invalid username or password. There were many wrong ones lately, so the next"
                f" answer takes {format_wait(spacing_s)} or more. The right password is let in all"
                f" the same; if you forgot yours, ask {self.whom}.",
            )

    def _no_turn(self, attempt: Attempt) -> LoginError:
        self.log.warning("%s from %s: not checked, too many wait", attempt.name, attempt.address)
        return LoginError(
            429,
            "Your password was not checked, since very many others are being tried for this name or"
            f" from your address. Try again in {format_wait(LONGEST_WAIT_S)}. In a browser in which"
            f" you have logged in before you need not wait. If this goes on, tell {self.whom}.",
            retry_after_s=LONGEST_WAIT_S,
        )

    async def unix_groups(self, name: str, deadline_s: float) -> list[str]:
        """Return the UNIX groups of a user, whose jobs the cluster could run.

        Args:
            name: The user.
            deadline_s: When the name service has to have answered, on the monotonic clock; it has
                a second at least.

        Returns:
            Names of groups.

        Raises:
            LoginError: If the user has no account here, it is one of the system, or the name
                service did not answer.
        """
        deadline_s = max(deadline_s, time.monotonic() + 1)
        try:
            account = await in_thread(
                self._account_threads, partial(read_account, name), deadline_s
            )
        except asyncio.TimeoutError as error:
            raise self.no_answer("the look-up of your UNIX account did not answer") from error
        except (KeyError, ValueError):
            account = None
        if account is None or account.name != name:
            raise LoginError(
                403,
                f"Your password is right, but {name} has no UNIX account on this host."
                f" Ask {self.whom} to add it.",
            )
        if account.uid < LOWEST_USER_UID:
            raise LoginError(
                403,
                f"{name} is an account of the system, and no session may run as it."
                " Log in with your own name.",
            )
        return list(account.groups)

    def no_answer(self, what: str) -> LoginError:
        """Return the error of a login that could not be checked.

        Args:
            what: What did not answer.

        Returns:
            An error that does not blame the user.
        """
        return LoginError(
            503,
            f"Nobody can log in just now: {what}. Your password may well be right; try again in a"
            f" minute. If this goes on, tell {self.whom}.",
            retry_after_s=60,
        )


async def in_thread(threads: ThreadPoolExecutor, work: Callable[[], T], deadline_s: float) -> T:
    """Do blocking work in a thread.

    Args:
        threads: Where.
        work: What.
        deadline_s: When nobody waits for it any more, on the monotonic clock.

    Returns:
        What the work returned.

    Raises:
        asyncio.TimeoutError: If it takes longer.
    """
    loop = asyncio.get_running_loop()
    timeout_s = deadline_s - time.monotonic()
    return await asyncio.wait_for(loop.run_in_executor(threads, work), timeout_s)
