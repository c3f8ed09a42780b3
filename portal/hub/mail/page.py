"""The page on which users say where messages about their sessions go."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupyterhub.handlers import BaseHandler
from tornado.web import HTTPError, authenticated

from portal.hub.mail.addresses import shared_addresses
from portal.hub.mail.chat import ChatMessage, shared_chat
from portal.hub.settings.chat import ChatSettings
from portal.hub.settings.mail import MailSettings

ROUTE = r"/portal/messages"
# A service that hangs takes one of few threads for some seconds.
_BETWEEN_TESTS_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesView:
    """What the page shows.

    Attributes:
        mail: Where mail goes; empty if the site sends none, or nowhere.
        own_mail: What the user has named.
        own_domains: Where the user may have an address of their own.
        services: Beginnings of the addresses of chats; empty for no chats.
        has_chat: Whether messages go to a chat.
        has_own_chat: Whether the user has named it.
        said: What has been done, a sentence; else empty.
        problem: What could not be done, and why; else empty.
    """

    mail: str
    own_mail: str
    own_domains: tuple[str, ...]
    services: tuple[str, ...]
    has_chat: bool
    has_own_chat: bool
    said: str = ""
    problem: str = ""


class MessagesHandler(BaseHandler):
    """Shows and takes addresses; Tornado checks the POST's XSRF token."""

    # By user, since the start of the hub.
    _tested_at: dict[str, float] = {}  # noqa: RUF012 - shared on purpose

    def initialize(
        self, mail: MailSettings, chat: ChatSettings, book_path: Path, portal: str
    ) -> None:
        """Find what the arguments of the route name; `portal` is the portal's name."""
        self._mail = mail
        self._chat = shared_chat(chat)
        self._book = shared_addresses(book_path)
        self._portal = portal

    @authenticated
    async def get(self) -> None:
        """Show the page."""
        await self._show()

    @authenticated
    async def post(self) -> None:
        """Keep, forget or try an address, as the button says."""
        do = {
            "mail": self._keep_mail,
            "chat": self._keep_chat,
            "forget-chat": self._forget_chat,
            "test": self._test,
        }.get(self.get_body_argument("do", ""))
        if do is None:
            raise HTTPError(400, "Choose a button of the page.")
        said, problem = await do()
        if problem:
            self.set_status(400)
        await self._show(said, problem)

    async def _keep_mail(self) -> tuple[str, str]:
        address = self.get_body_argument("address", "").strip()
        if address and (problem := self._mail.why_not(address)):
            return "", problem
        self._book.change(self.current_user.name, mail=address)
        return "Mail goes there from now on.", ""

    async def _keep_chat(self) -> tuple[str, str]:
        address = self.get_body_argument("address", "").strip()
        if problem := self._chat.why_not(address):
            return "", problem
        self._book.change(self.current_user.name, chat=address)
        return "Messages go there from now on. Send one to see whether it arrives.", ""

    async def _forget_chat(self) -> tuple[str, str]:
        self._book.change(self.current_user.name, chat="")
        return "The address is forgotten.", ""

    async def _test(self) -> tuple[str, str]:
        user, now = self.current_user.name, time.monotonic()
        address = self._chat.address_of(user, self._book.of(user).chat)
        if not address:
            return "", "There is no address to try. Save one first."
        if now - self._tested_at.get(user, -_BETWEEN_TESTS_S) < _BETWEEN_TESTS_S:
            return "", "A message was sent just now. Try again in some seconds."
        self._tested_at[user] = now
        body = "Messages about your sessions will come here."
        message = ChatMessage(user=user, address=address, title=self._portal, body=body)
        if await self._chat.send(message):
            return "The service has taken a message.", ""
        return "", "The service did not take a message. Compare the address with what it gave you."

    async def _show(self, said: str = "", problem: str = "") -> None:
        user = self.current_user.name
        known = self._book.of(user)
        view = MessagesView(
            mail=self._mail.address_of(user, own=known.mail, directory=known.directory),
            own_mail=known.mail,
            own_domains=self._mail.own_domains if self._mail.server else (),
            services=tuple(self._chat.allowed),
            has_chat=bool(self._chat.address_of(user, known.chat)),
            has_own_chat=bool(known.chat),
            said=said,
            problem=problem,
        )
        self.finish(await self.render_template("messages.html", messages=view))


def messages_route(mail: MailSettings, chat: ChatSettings, *, book_path: Path, portal: str) -> Any:
    """Return the route of the page; `portal` is the portal's name."""
    kept = {"mail": mail, "chat": chat, "book_path": book_path, "portal": portal}
    return (ROUTE, MessagesHandler, kept)
