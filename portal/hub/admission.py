"""What holds for every way of logging in: a UNIX account, no endless guessing, errors in words."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from jupyterhub.auth import Authenticator
from jupyterhub.utils import maybe_future
from traitlets import Unicode

from portal.hub.accounts import read_account
from portal.hub.credentials import Credentials, LoginError, format_wait
from portal.hub.lockout import Lockout

T = TypeVar("T")

LOWEST_USER_UID = 1000
N_ACCOUNT_THREADS = 16


class Admission(Authenticator):
    """Base of the portal's authenticators: who gave the right password still needs an account."""

    support = Unicode(help="Whom users ask; part of messages.").tag(config=True)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._lockout = Lockout()
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

    @property
    def whom(self) -> str:
        """Whom users ask."""
        return self.support or "your administrator"

    def count_attempt(self, credentials: Credentials) -> None:
        """Count a login as wrong until `forgive` or `take_back` says otherwise.

        Args:
            credentials: The name, and where the attempt comes from.

        Raises:
            LoginError: If there were too many wrong passwords.
        """
        wait_s = self._lockout.wait_s(credentials.name, credentials.address)
        if wait_s > 0:
            raise LoginError(
                429,
                f"Too many wrong passwords. Wait {format_wait(wait_s)}, then try again."
                f" If you forgot your password, ask {self.whom}.",
                retry_after_s=wait_s,
            )
        self._lockout.count(credentials.name, credentials.address)

    def take_back(self, credentials: Credentials) -> None:
        """Let an attempt whose password could not be checked count no more.

        Args:
            credentials: The name, and where the attempt came from.
        """
        self._lockout.take_back(credentials.name, credentials.address)

    def forgive(self, credentials: Credentials) -> None:
        """Forget the wrong passwords before the right one.

        Args:
            credentials: The name, and where the attempt came from.
        """
        self._lockout.forgive(credentials.name, credentials.address)

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
