"""Checks of single settings beyond their type; each raises ValueError with a sentence."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from spawner.account_names import objection
from spawner.slurm.names import is_name

# No part begins with a dot: ".." would lead out of the path.
BASE_URL = re.compile(r"/(?:[A-Za-z0-9][A-Za-z0-9._~-]*/)*")
HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")


def check_address(address: str) -> None:
    """Refuse anything but an IP address or a host name.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    try:
        ipaddress.ip_address(address)
    except ValueError:
        if not HOST_NAME.fullmatch(address):
            raise ValueError("it must be an IP address or a host name, without a port.") from None


def check_hosts(texts: tuple[str, ...]) -> None:
    """Refuse anything but host names in small letters, each with or without a port.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    for text in texts:
        name, _, port = text.partition(":")
        is_port = port.isdecimal() if ":" in text else True
        if not HOST_NAME.fullmatch(name) or name != name.lower() or not is_port:
            raise ValueError(
                f'{text!r} must look like "git.example.org" or "git.example.org:8443".'
            )


def check_http_url(url: str) -> None:
    """Refuse anything but an http or https URL.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError('it must look like "http://127.0.0.1:8001".')


def check_gallery(url: str) -> None:
    """Refuse anything but an http or https URL; empty is accepted.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    if url:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query:
            raise ValueError('it must look like "https://open-vsx.org".')


def check_networks(texts: tuple[str, ...]) -> None:
    """Refuse anything but addresses and networks.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    for text in texts:
        try:
            # Also refuses 192.0.2.1/24, of which it is unclear whether host or network is meant.
            ipaddress.ip_network(text)
        except ValueError as error:
            raise ValueError(
                f'{text!r} must look like "192.0.2.10" or "192.0.2.0/28": {error}.'
            ) from error


def check_database_url(url: str) -> None:
    """Refuse anything but a PostgreSQL URL without a password; empty is accepted.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    if not url:
        return
    parts = urlsplit(url)
    if parts.scheme != "postgresql" or not parts.path.strip("/"):
        raise ValueError('it must look like "postgresql://dsportal@db.example.com/jupyterhub".')
    # Every user of this host may be able to read portal.toml.
    if parts.password is not None or "password=" in parts.query:
        raise ValueError("it holds a password. Write that into .pgpass in state_dir, mode 0600.")


def check_public_url(url: str) -> None:
    """Refuse anything but an http or https URL without a path; empty is accepted.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    parts = urlsplit(url)
    is_plain = parts.path in {"", "/"} and not (parts.query or parts.username)
    if url and (parts.scheme not in {"http", "https"} or not parts.hostname or not is_plain):
        raise ValueError("it must look like https://portal.example.com; a path is for base_url.")


def check_base_url(path: str) -> None:
    """Refuse anything but a path with a slash at both ends.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    if not BASE_URL.fullmatch(path):
        raise ValueError(
            'it must look like "/jupyter/": a slash at both ends, and letters, digits, ".", "_",'
            ' "~" and "-" between.'
        )


def check_ldap_servers(servers: tuple[str, ...]) -> None:
    """Refuse an empty list and anything but LDAP URLs.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    if not servers:
        raise ValueError("at least one server is needed, for example ldap://ldap.example.com.")
    for server in servers:
        parts = urlsplit(server)
        is_plain = parts.path in {"", "/"} and not (parts.query or parts.username)
        if parts.scheme not in {"ldap", "ldaps"} or not parts.hostname or not is_plain:
            raise ValueError(
                f"{server!r} must look like ldap://host, ldap://host:389 or ldaps://host:636."
            )
        # parse_server would take it for "not given". Above 65535 `port` itself raises ValueError.
        if parts.port == 0:
            raise ValueError(f"{server!r} has port 0.")


def check_dn_templates(templates: tuple[str, ...]) -> None:
    """Refuse a template without exactly one {username}.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    # A template goes through str.format(), for which other braces are fields.
    for template in templates:
        rest = template.replace("{username}", "", 1)
        if rest == template or re.search(r"[{}]", rest):
            raise ValueError(f"{template!r} must hold {{username}} once, and no other braces.")


def check_user_names(names: tuple[str, ...]) -> None:
    """Refuse names that nobody can log in with.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    for name in names:
        # JupyterHub compares names in small letters: another one would match nobody.
        if name != name.lower():
            raise ValueError(f"{name!r} is not a user name in small letters.")
        if why := objection(name):
            raise ValueError(f"the portal cannot serve {name!r}: it {why}.")


def check_slurm_names(names: tuple[str, ...]) -> None:
    """Refuse names that cannot be Slurm accounts, QOS, reservations or GPU types.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    for name in names:
        if not is_name(name):
            raise ValueError(f"{name!r} is not one name: no comma, no dash in front.")


def check_folders(folders: tuple[str, ...]) -> None:
    """Refuse anything but absolute paths that can be bound into an image.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    for folder in folders:
        # Apptainer's --bind separates source, destination and options with ":", binds with ",".
        if not folder.startswith("/") or re.search(r"[:,\s]", folder):
            raise ValueError(f"{folder!r} is not an absolute path without ':', ',' and spaces.")


def check_folder(folder: str) -> None:
    """Refuse anything but an absolute path; empty is accepted.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    if folder and (not folder.startswith("/") or not folder.isprintable()):
        raise ValueError("it must be an absolute path.")


def check_template_sources(places: tuple[str, ...]) -> None:
    """Refuse anything but absolute paths and URLs of git repositories.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    for place in places:
        if not re.fullmatch(r"(?:/|https://|ssh://|file:///)[^\s@][^\s]*", place):
            raise ValueError(
                f"{place!r} is neither an absolute path nor an https:// or ssh:// address."
            )
        # ssh://git@host has a user, not a password.
        if "@" in place and place.startswith("https://"):
            raise ValueError(f"{place!r} holds a password; every user can read it in a session.")


def check_tool_command(command: tuple[str, ...]) -> None:
    """Refuse a command without an absolute path or exactly one of {unix_socket} and {port}.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    if not command or not command[0].startswith("/"):
        raise ValueError("it must begin with the absolute path of a program.")
    told = [name for name in ("{unix_socket}", "{port}") if name in " ".join(command[1:])]
    if len(told) != 1:
        raise ValueError("one of its arguments must hold {unix_socket}, or one {port}.")
