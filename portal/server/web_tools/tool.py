"""A web tool of a session: its command as a template of jupyter-server-proxy."""

import secrets
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from portal.server.base.child_process import bound

# The tool does not get the session's tokens.
_WITHOUT_TOKENS = (
    "/usr/bin/env",
    *("-u", "JUPYTERHUB_API_TOKEN"),
    *("-u", "JPY_API_TOKEN"),
    *("-u", "JUPYTER_TOKEN"),
)
# "-c" instead of "-m", and without the empty entry of sys.path: nothing is imported from the
# current folder, which may be in the user's home.
_PROGRAM = (
    "import sys; sys.path[:] = [p for p in sys.path if p]; "
    "from portal.server.web_tools.process import main; sys.exit(main())"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebTool:
    """A web tool of the session.

    Attributes:
        command: Program and arguments, with {unix_socket} or {port}.
        path: URL path below the notebook server. It cannot be guessed, so a page of another user on
            the same host cannot request what the tool shows.
        requests_are_use: Whether requests show the hub that somebody uses the session.
        asks: What its pages may ask beside its own path: sites, and paths of the portal.
    """

    title: str
    command: tuple[str, ...]
    path: str
    environment: Mapping[str, str] = field(default_factory=dict)
    requests_are_use: bool = True
    asks: tuple[str, ...] = ()

    def argv(self) -> list[str]:
        """Return the command that listens on a unix socket, as a template of jupyter-server-proxy.

        It holds {unix_socket}; other braces are doubled.
        """
        if any("{unix_socket}" in word for word in self.command):
            words = [_escaped(word) for word in self.command]
            # Not killed: a tool such as code-server ends its own processes at SIGTERM.
            return [*_WITHOUT_TOKENS, *bound(words, number=signal.SIGTERM)]
        # Hidden from jupyter-server-proxy, which would fill in a port of its own.
        words = [_escaped(word.replace("{port}", "@PORT@")) for word in self.command]
        program = (sys.executable, "-c", _PROGRAM, "{unix_socket}")
        return [*_WITHOUT_TOKENS, *bound([*program, *words], has_private_network=True)]

    def variables(self) -> dict[str, str]:
        """Return the variables as templates of jupyter-server-proxy, with doubled braces."""
        return {name: _doubled(value) for name, value in self.environment.items()}


def tool_path(name: str) -> str:
    """Return a new path that cannot be guessed."""
    return f"portal/tools/{secrets.token_hex(12)}/{name}"


def _doubled(word: str) -> str:
    return word.replace("{", "{{").replace("}", "}}")


def _escaped(word: str) -> str:
    return _doubled(word).replace("{{unix_socket}}", "{unix_socket}")
