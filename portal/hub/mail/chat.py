"""Messages to users' chats and phones by apprise, and which addresses the site allows."""

import asyncio
import functools
import logging
import re
import sys
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from portal.hub.settings.chat import ChatSettings
from spawner.errors import SettingsError

# Without a query: there apprise takes other hosts, files and certificates that are not checked.
# Percent signs in the host, and a second @, would let apprise read another host than is read here.
_ADDRESS = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9]*)://(?:[A-Za-z0-9._~:+=%!-]*@)?(?P<host>[A-Za-z0-9._:-]+)"
    r"(?:/[A-Za-z0-9._~:@/+=%!*-]*)?",
    re.ASCII,
)
# Of apprise's templates for addresses of services whose server the user names.
_HOST = "{host}"
MOST_CHARACTERS = 500
_N_THREADS = 4
_MOST_TRIES = 3
# While services are away; the oldest goes first.
_MOST_KEPT = 1000


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message, and the address that apprise sends it to."""

    user: str
    address: str
    title: str
    body: str
    n_tries: int = 0


class Chat:
    """Messages that wait for their services; refuses a list that lets users name any server."""

    def __init__(self, settings: ChatSettings, *, log: logging.Logger) -> None:
        if settings.is_offered:
            _apprise()
        self._settings = settings
        self._log = log
        self._waiting: deque[ChatMessage] = deque(maxlen=_MOST_KEPT)
        self._threads = ThreadPoolExecutor(_N_THREADS, thread_name_prefix="chat")
        self._sending: asyncio.Task[None] | None = None
        for entry in settings.allowed:
            scheme, _, host = entry.partition("://")
            if _takes_host(scheme) and not host:
                raise SettingsError(
                    f"[chat] allows {entry}, whose server users name: the hub would send requests"
                    f' anywhere. Name the server, such as "{entry}{scheme}.example.org/".'
                )

    @property
    def allowed(self) -> Sequence[str]:
        """The entries of the site's list."""
        return self._settings.allowed

    def address_of(self, user: str, own: str) -> str:
        """Return where a user's messages go; "" for nowhere.

        Args:
            own: What the user has named, which the site may have ceased to allow.
        """
        if own and not self.why_not(own):
            return own
        return self._settings.default.replace("{user}", user)

    def why_not(self, address: str) -> str:
        """Return why nothing is sent to an address that a user names, and the next step; or ""."""
        found = _ADDRESS.fullmatch(address)
        if found is None or len(address) > MOST_CHARACTERS:
            return (
                "This is no address that can be used here. Write it as apprise does, without a"
                " question mark, such as discord://ID/TOKEN."
            )
        scheme, host = found["scheme"].lower(), found["host"].lower()
        if not {f"{scheme}://", f"{scheme}://{host}/"} & set(map(str.lower, self.allowed)):
            return (
                f"This site sends nothing to {scheme}://{host}. Addresses here begin with"
                f" {' or '.join(self.allowed) or 'nothing that users name'}."
            )
        if not is_understood(address):
            return (
                "apprise does not understand this address: a part is missing or too long. Compare"
                " it with apprise's description of the service."
            )
        return ""

    def add(self, message: ChatMessage) -> None:
        """Keep a message until it has been sent, or could not be three times."""
        self._waiting.append(message)

    def send_soon(self) -> None:
        """Send what waits, beside what the hub does: a service may hang."""
        if self._waiting and (self._sending is None or self._sending.done()):
            # Kept here, since the loop itself keeps no task alive.
            self._sending = asyncio.create_task(self._send_all())

    async def send(self, message: ChatMessage) -> bool:
        """Send a message now; return whether its service took it."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, _send, message)

    async def _send_all(self) -> None:
        messages = [self._waiting.popleft() for _ in range(len(self._waiting))]
        taken = await asyncio.gather(*map(self.send, messages))
        for message, is_taken in zip(messages, taken, strict=True):
            scheme = message.address.partition(":")[0]
            if is_taken:
                self._log.info("Message to %s by %s: %s", message.user, scheme, message.title)
            elif message.n_tries + 1 < _MOST_TRIES:
                self.add(replace(message, n_tries=message.n_tries + 1))
            else:
                self._log.warning("A message to %s by %s is given up.", message.user, scheme)


# Settings may be applied twice, and each message is sent once.
@functools.cache
def shared_chat(settings: ChatSettings) -> Chat:
    """Return the one of a hub; raises as `Chat` does."""
    return Chat(settings, log=logging.getLogger("JupyterHub"))


def is_understood(address: str) -> bool:
    """Return whether apprise finds all in an address that its service needs."""
    return _load(address) is not None


def server_of(address: str) -> str:
    """Return the server that apprise would ask, such as "https://ntfy.example.org/".

    Args:
        address: Of a service that apprise knows, or its first part alone.

    Returns:
        Empty where that is not known, and for services without HTTP.
    """
    parts = urlsplit(address)
    service = _apprise().plugins.N_MGR[parts.scheme]
    if not _takes_host(parts.scheme):
        own = getattr(service, "notify_url", None)
        known = urlsplit(own if isinstance(own, str) else "")
        return (
            f"{known.scheme}://{known.netloc}/" if known.scheme and "{" not in known.netloc else ""
        )
    # Some services take a token in the host's place, which has no dot.
    if "." not in (parts.hostname or "") or not hasattr(
        sys.modules[service.__module__], "requests"
    ):
        return ""
    secure = service.secure_protocol or ()
    is_secure = parts.scheme in ((secure,) if isinstance(secure, str) else secure)
    return f"http{'s' * is_secure}://{parts.netloc.rpartition('@')[2]}/"


@functools.cache
def _apprise() -> Any:
    # Only hubs that use it have it, and need the time that it takes to load.
    try:
        import apprise
    except ImportError as error:
        raise SettingsError(
            "[chat] needs the package apprise in the hub's environment. Install it, or take the"
            " table away."
        ) from error
    if not hasattr(apprise.AppriseAsset, "http_redirects"):
        raise SettingsError(
            f"[chat] needs a newer apprise than {apprise.__version__}, which follows redirects to"
            " any server. Renew it."
        )
    return apprise


def _load(address: str) -> Any:
    # A server on the list must not pass requests on to one that is not.
    asset = _apprise().AppriseAsset(http_redirects=False, secure_logging=True)
    # Of other addresses apprise writes the whole into the log.
    if address.partition("://")[0].lower() not in _apprise().plugins.N_MGR:
        return None
    return _apprise().Apprise.instantiate(address, asset=asset)


def _send(message: ChatMessage) -> bool:
    service = _load(message.address)
    return service is not None and bool(service.notify(title=message.title, body=message.body))


def _takes_host(scheme: str) -> bool:
    known = _apprise().plugins.N_MGR
    if scheme not in known:
        raise SettingsError(
            f"[chat] allows {scheme}://, which apprise does not know. Take it away, or write it as"
            " apprise's list of services does."
        )
    return any(_HOST in template for template in known[scheme].templates)
