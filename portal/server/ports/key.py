"""The key in the addresses of programs' pages, which stands for the login."""

import hmac
import secrets
import weakref
from collections.abc import MutableMapping

from portal.server.base.forwarding import ForwardingHandler, cut_off

VARIABLE = "PORTAL_PORT_PREFIX"


class PortKey:
    """A new one each time the server starts, and when somebody who may have kept it has to leave.

    Args:
        base_url: Path of the session.
        environ: Tells programs such as Dash the path of their pages: those that start from now on.

    Attributes:
        users: Handlers of requests that had it.
    """

    def __init__(self, base_url: str, environ: MutableMapping[str, str]) -> None:
        self._base_url = base_url
        self._environ = environ
        self.users: weakref.WeakSet[ForwardingHandler] = weakref.WeakSet()
        self.renew()

    def fits(self, text: str) -> bool:
        """Return whether `text` is the key, in constant time."""
        return hmac.compare_digest(self.text, text)

    @property
    def prefix(self) -> str:
        """The path in front of the number of a port."""
        return f"{self._base_url}port/{self.text}/"

    def renew(self) -> None:
        """Take another one, and cut off what goes on with this one."""
        # Hexadecimal, so that the routes tell it from the number of a port.
        self.text = secrets.token_hex(16)
        self._environ[VARIABLE] = self.prefix
        for handler in list(self.users):
            cut_off(handler, "")
        self.users.clear()
