"""The table [chat] of portal.toml."""

from dataclasses import dataclass

from portal.settings.validators import HOST, each_like
from spawner.settings.schema import setting


@dataclass(frozen=True, kw_only=True)
class ChatSettings:
    """Messages about sessions to chat and phone, by apprise.

    The hub sends them, so it reaches what users cannot. They may name only what is listed here.
    """

    allowed: tuple[str, ...] = setting(
        "Where users may have messages sent, by the first part of apprise's addresses: a service"
        ' with an address of its own such as "discord://", or one server such as'
        ' "ntfys://ntfy.example.org/". Empty: nowhere. It needs the package apprise in the hub\'s'
        " environment.",
        default=(),
        check=each_like(
            rf"[a-z][a-z0-9]*://(?:{HOST}(?::[0-9]{{1,5}})?/)?",
            'must look like "discord://" or "ntfys://ntfy.example.org/".',
        ),
    )
    default: str = setting(
        "apprise's address for those who name none. {user} stands for the user's name, as in"
        ' "ntfys://ntfy.example.org/gpus-{user}". Empty: they get none.',
        default="",
    )

    @property
    def is_offered(self) -> bool:
        """Whether anybody gets messages."""
        return bool(self.allowed or self.default)
