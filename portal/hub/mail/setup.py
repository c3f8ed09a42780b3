"""Applies [mail] and [chat] to JupyterHub's configuration."""

from collections.abc import Mapping
from typing import Any

from portal.hub.mail.addresses import AddressBook, shared_addresses
from portal.hub.mail.chat import shared_chat
from portal.hub.mail.events import CHOICES
from portal.hub.mail.page import messages_route
from portal.hub.mail.watch import letterhead, watched_by
from portal.hub.settings.loader import Settings
from portal.hub.settings.mail import ADDRESS
from spawner.hub.patches.application import before_sessions
from spawner.hub.session_mixin import SessionMixin

_FILE = "addresses.json"
# In sessions: where Slurm's own mail about the user's jobs goes.
ADDRESS_VARIABLE = "PORTAL_MAIL_ADDRESS"


def messages_routes(settings: Settings) -> list[Any]:
    """Return the route of the page of addresses; none if the site sends no messages."""
    if not settings.sends_messages:
        return []
    # Now, since it refuses settings that would open too much.
    shared_chat(settings.chat)
    return [
        messages_route(
            settings.mail,
            settings.chat,
            book_path=settings.hub.state_dir / _FILE,
            portal=settings.site.name,
        )
    ]


def watch_sessions(spawner: Any, settings: Settings) -> None:
    """Let users choose messages on the form of `spawner`, a configuration, and send them."""
    if settings.sends_messages:
        spawner.mail_times = list(CHOICES)
        chat, book = shared_chat(settings.chat), _book(settings)
        path = settings.hub.state_dir / "mail.json"
        before_sessions(watched_by(settings.mail, letterhead(settings), chat, book, path))


def address_variables(settings: Settings) -> dict[str, Any]:
    """Return the variable of sessions that has its user's address, where the site sends mail."""
    if not settings.mail.server:
        return {}
    book = _book(settings)

    def address(spawner: SessionMixin) -> str:
        user = spawner.user.name
        known = book.of(user)
        return settings.mail.address_of(user, own=known.mail, directory=known.directory)

    return {ADDRESS_VARIABLE: address}


def note_addresses(authenticator: Any, settings: Settings) -> None:
    """Have the addresses of users kept at their login, and forgotten when they are deleted.

    Args:
        authenticator: Its part of JupyterHub's configuration.
        settings: Those of the site.
    """
    if not settings.sends_messages:
        return
    book, attribute = _book(settings), settings.mail.ldap_attribute
    # A function, since traitlets copies all else.
    authenticator.on_delete = lambda name: book.forget(name)
    if settings.login.is_ldap and attribute:
        authenticator.auth_state_attributes = [attribute]

        def note(_: Any, handler: Any, login: dict[str, Any]) -> dict[str, Any]:
            del handler
            known = (login.get("auth_state") or {}).get("user_attributes") or {}
            book.change(login["name"], directory=_first_address(known, attribute))
            return login

        authenticator.post_auth_hook = note


def _first_address(attributes: Mapping[str, Any], name: str) -> str:
    # LDAP's names have no case.
    found = [each for key, each in attributes.items() if key.lower() == name.lower()]
    texts = [text for values in found for text in values if isinstance(text, str)]
    return next((text for text in texts if ADDRESS.fullmatch(text)), "")


def _book(settings: Settings) -> AddressBook:
    return shared_addresses(settings.hub.state_dir / _FILE)
