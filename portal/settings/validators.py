"""Checks of single settings beyond their type: each returns why a value is wrong, or ""."""

import ipaddress
import re
from collections.abc import Callable
from urllib.parse import urlsplit

from spawner.account_names import objection

HOST = r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?"
HOST_NAME = re.compile(HOST)


def like(pattern: str, sentence: str) -> Callable[[str], str]:
    """Return a check that a text matches a regular expression as a whole."""
    compiled = re.compile(pattern, re.ASCII)
    return lambda text: "" if compiled.fullmatch(text) else sentence


def each_like(pattern: str, sentence: str) -> Callable[[tuple[str, ...]], str]:
    """Return the same check for each of a list; the sentence begins behind the text."""
    compiled = re.compile(pattern, re.ASCII)
    return lambda texts: next(
        (f"{text!r} {sentence}" for text in texts if not compiled.fullmatch(text)), ""
    )


def url(*schemes: str, sentence: str, may_have_path: bool = False) -> Callable[[str], str]:
    """Return a check that a text is a URL without a user, a query and a path; empty is accepted."""

    def check(text: str) -> str:
        parts = urlsplit(text)
        is_plain = parts.path in {"", "/"} or may_have_path
        is_plain = is_plain and not (parts.query or parts.fragment or parts.username)
        is_right = parts.scheme in schemes and bool(parts.hostname) and is_plain
        return "" if is_right or not text else sentence

    return check


def check_address(address: str) -> str:
    """Refuse anything but an IP address or a host name."""
    if HOST_NAME.fullmatch(address):
        return ""
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return "it must be an IP address or a host name, without a port."
    return ""


def check_networks(texts: tuple[str, ...]) -> str:
    """Refuse anything but addresses and networks."""
    for text in texts:
        try:
            # Also refuses 192.0.2.1/24, of which it is unclear whether host or network is meant.
            ipaddress.ip_network(text)
        except ValueError as error:
            return f'{text!r} must look like "192.0.2.10" or "192.0.2.0/28": {error}.'
    return ""


def check_database_url(text: str) -> str:
    """Refuse anything but a PostgreSQL URL without a password; empty is accepted."""
    parts = urlsplit(text)
    if text and (parts.scheme != "postgresql" or not parts.path.strip("/")):
        return 'it must look like "postgresql://dsportal@db.example.com/jupyterhub".'
    # Every user of this host may be able to read portal.toml.
    if parts.password is not None or "password=" in parts.query:
        return "it holds a password. Write that into .pgpass in state_dir, mode 0600."
    return ""


def check_ldap_servers(servers: tuple[str, ...]) -> str:
    """Refuse an empty list and anything but LDAP URLs."""
    if not servers:
        return "at least one server is needed, for example ldap://ldap.example.com."
    for server in servers:
        sentence = f"{server!r} must look like ldap://host, ldap://host:389 or ldaps://host:636."
        if why := url("ldap", "ldaps", sentence=sentence)(server or "-"):
            return why
        # parse_server would take it for "not given". Above 65535 `port` itself raises ValueError.
        if urlsplit(server).port == 0:
            return f"{server!r} has port 0."
    return ""


def check_dn_templates(templates: tuple[str, ...]) -> str:
    """Refuse a template without exactly one {username}."""
    return each_like(
        # A template goes through str.format(), for which other braces are fields.
        r"[^{}]*\{username\}[^{}]*",
        "must hold {username} once, and no other braces.",
    )(templates)


def check_user_names(names: tuple[str, ...]) -> str:
    """Refuse names that nobody can log in with."""
    for name in names:
        # JupyterHub compares names in small letters: another one would match nobody.
        if name != name.lower():
            return f"{name!r} is not a user name in small letters."
        if why := objection(name):
            return f"the portal cannot serve {name!r}: it {why}."
    return ""


def check_folder(folder: str) -> str:
    """Refuse anything but an absolute path; empty is accepted."""
    is_right = not folder or (folder.startswith("/") and folder.isprintable())
    return "" if is_right else "it must be an absolute path."


def check_user_folder(folder: str) -> str:
    """Refuse a folder that users would share; empty is accepted."""
    if folder and "{user}" not in folder:
        return "it must hold {user}: what a program loads from a folder of others, they can change."
    return check_folder(folder)


def check_template_sources(sources: tuple[str, ...]) -> str:
    """Refuse anything but absolute paths and URLs of git repositories."""
    for source in sources:
        # ssh://git@host has a user, not a password.
        if "@" in source and source.startswith("https://"):
            return f"{source!r} holds a password, which every user can read in a session."
    return each_like(
        r"(?:/|https://|ssh://|file:///)[^\s@]\S*",
        "is neither an absolute path nor an https:// or ssh:// address.",
    )(sources)


def check_tool_command(command: tuple[str, ...]) -> str:
    """Refuse a command without an absolute path or exactly one of {unix_socket} and {port}."""
    if not command or not command[0].startswith("/"):
        return "it must begin with the absolute path of a program."
    told = [name for name in ("{unix_socket}", "{port}") if name in " ".join(command[1:])]
    if len(told) != 1:
        return "one of its arguments must hold {unix_socket}, or one {port}."
    return ""
