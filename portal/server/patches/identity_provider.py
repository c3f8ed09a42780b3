"""IdentityProvider: checks of ours for each user that it finds, plain request or websocket.

Every handler asks `get_user` before anything else. Jupyter's Authorizer is asked only by handlers
that know of it, and those of other extensions do not.

Source:
    Jupyter Server 2.21.1, `IdentityProvider.get_user`; JupyterHub 6.1.1, whose provider it is.

Shown by:
    tests/unit/portal/server/sharing/test_guest_gate.py
    tests/security/test_reading_guest.py
"""

from collections.abc import Awaitable, Callable
from typing import Any

from jupyter_server.auth import IdentityProvider

from spawner.patch import wrap

_Check = Callable[[Any, Any], Awaitable[Any]]


def check_users(identity_provider: IdentityProvider, check: _Check) -> None:
    """Have `check` called with each handler and its user, None for nobody.

    It returns whom the handler has to take for its user. Those that were added first come first.
    """
    checks: list[_Check] = vars(identity_provider).setdefault("portal_checks", [])
    checks.append(check)

    def around(original: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
        async def get_user(handler: Any) -> Any:
            user = await original(handler)
            for each in checks:
                user = await each(handler, user)
            return user

        return get_user

    wrap(identity_provider, "get_user", around)
