"""Checks [chat]: whether apprise knows the site's services, and whether their servers answer."""

from portal.hub.mail.chat import is_understood, server_of, shared_chat
from portal.hub.settings.chat import ChatSettings
from portal.site.checks.finding import Finding, ok, skipped, warning
from portal.site.checks.runner import in_thread

_TIMEOUT_S = 5.0


async def check_chat(chat: ChatSettings) -> list[Finding]:
    """Ask each server as apprise does, without a path: no message is sent, no token told.

    Raises:
        SettingsError: As `Chat` does: then the hub does not start either.
    """
    return await in_thread(lambda: _probe(chat))


def _probe(chat: ChatSettings) -> list[Finding]:
    shared_chat(chat)
    # Whose address does not matter; it may hold a token, so no finding prints it.
    default = chat.default.replace("{user}", "user")
    found, addresses = [], list(chat.allowed)
    if default and is_understood(default):
        addresses.append(default)
    elif default:
        found.append(
            warning(
                "apprise does not understand the address of `default`.",
                "Compare it with apprise's description of its service. Until then users who have"
                " named no address get no messages.",
            )
        )
    # Each once; services without a known server are told one by one.
    asked = dict.fromkeys((server_of(each), each.partition("://")[0]) for each in addresses)
    return [*found, *(_ask(*each) for each in asked)]


def _ask(server: str, scheme: str) -> Finding:
    if not server:
        return skipped(
            f"{scheme}:// is not asked: its server is not known, or speaks no HTTP.",
            'Try it with "Send a message now" on the page "Messages".',
        )
    # apprise brings it.
    import requests

    try:
        status = requests.get(
            server, timeout=_TIMEOUT_S, allow_redirects=False, stream=True
        ).status_code
        fault = f"answers {status}" if status >= 500 else ""
    except requests.RequestException as error:
        # Its own words would name a proxy and its password.
        fault = f"does not answer this host ({type(error).__name__})"
    if not fault:
        return ok(f"{server} answers.")
    return warning(
        f"{server} {fault}.",
        "Start it, open the way to it, or correct [chat]. Until then its users get no messages.",
    )
