"""Which addresses the hub sends messages to."""

import logging

import pytest

from portal.hub.mail.chat import Chat
from portal.hub.settings.chat import ChatSettings
from spawner.errors import SettingsError

# Of a library that one of apprise's services loads.
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")

ALLOWED = ("discord://", "ntfys://ntfy.example.org/", "gotify://10.0.0.5:8080/")
DISCORD = "discord://123456789012345678/token-of-the-channel"


def chat(*allowed: str, default: str = "") -> Chat:
    settings = ChatSettings(allowed=allowed, default=default)
    return Chat(settings, log=logging.getLogger("chat"))


@pytest.mark.parametrize(
    "address",
    [
        DISCORD,
        "ntfys://ntfy.example.org/my-topic",
        "ntfys://ada:secret@ntfy.example.org/my-topic",
        "NTFYS://NTFY.example.org/my-topic",
        "gotify://10.0.0.5:8080/AbCdEf123456789",
    ],
)
def test_what_the_site_lists_may_be_named(address: str) -> None:
    assert chat(*ALLOWED).why_not(address) == ""


@pytest.mark.parametrize(
    "address",
    [
        "",
        "discord://",
        # Another service, server, port or encryption.
        "json://10.77.0.1:8081/hub/api",
        "http://ntfy.example.org/topic",
        "file:///etc/passwd",
        "ntfys://10.77.0.1/topic",
        "ntfys://ntfy.example.org.evil.example/topic",
        "ntfys://ntfy.example.org:8443/topic",
        "ntfy://ntfy.example.org/topic",
        "gotify://10.0.0.5/AbCdEf123456789",
        # Another server to a reader of addresses who counts differently.
        "ntfys://ntfy.example.org@10.77.0.1/topic",
        "ntfys://ntfy.example.org@ada@10.77.0.1/topic",
        "ntfys://10.77.0.1\\@ntfy.example.org/topic",
        "ntfys://10.77.0.1%2F@ntfy.example.org%2F/topic",
        "ntfys:///10.77.0.1/ntfy.example.org/topic",
        "ntfys://ntfy.example.org /topic",
        # Words for apprise: another server, certificates that are not checked, files.
        "ntfys://ntfy.example.org/topic?verify=no",
        f"{DISCORD}?template=/etc/passwd",
        f"{DISCORD}, json://10.77.0.1/",
        f"{DISCORD}\njson://10.77.0.1/",
        "discord://" + 600 * "x",
    ],
)
def test_nothing_else_may_be(address: str) -> None:
    assert chat(*ALLOWED).why_not(address)


def test_where_the_site_lists_nothing_nothing_may_be_named() -> None:
    assert chat(default="ntfys://ntfy.example.org/{user}").why_not(DISCORD)


def test_an_own_address_goes_before_the_sites_while_the_site_allows_it() -> None:
    default = "ntfys://ntfy.example.org/gpus-{user}"

    assert chat(*ALLOWED, default=default).address_of("ada", DISCORD) == DISCORD
    assert chat(default=default).address_of("ada", DISCORD) == "ntfys://ntfy.example.org/gpus-ada"
    assert chat("discord://").address_of("ada", "") == ""


@pytest.mark.parametrize("entry", ["ntfys://", "json://", "mailtos://", "nonsense://"])
def test_a_service_whose_server_users_name_is_allowed_with_that_server_only(entry: str) -> None:
    with pytest.raises(SettingsError):
        chat(entry)
