"""Checks of single settings beyond their type; each raises ValueError with a sentence."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

SLURM_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}", re.ASCII)
BASE_URL = re.compile(r"/(?:[A-Za-z0-9][A-Za-z0-9._~-]*/)*")
HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")


def check_address(address: str) -> None:
    """Refuse what is neither an IP address nor a host name.

    Args:
        address: The value in the file.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    try:
        ipaddress.ip_address(address)
    except ValueError:
        if not HOST_NAME.fullmatch(address):
            raise ValueError("it must be an IP address or a host name, without a port.") from None


def check_http_url(url: str) -> None:
    """Refuse what is not an http or https address.

    Args:
        url: The value in the file.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError('it must look like "http://127.0.0.1:8001".')


def check_networks(texts: tuple[str, ...]) -> None:
    """Refuse what is neither an address nor a network.

    Args:
        texts: The values in the file.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    for text in texts:
        try:
            ipaddress.ip_network(text)
        except ValueError as error:
            raise ValueError(
                f'{text!r} must look like "192.0.2.10" or "192.0.2.0/28": {error}.'
            ) from error


def check_database_url(url: str) -> None:
    """Refuse what is no address of a PostgreSQL database, or holds a password; empty is accepted.

    Args:
        url: The value in the file.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    if not url:
        return
    parts = urlsplit(url)
    if parts.scheme != "postgresql" or not parts.path.strip("/"):
        raise ValueError('it must look like "postgresql://dsportal@db.example.com/jupyterhub".')
    if parts.password is not None or "password=" in parts.query:
        raise ValueError("it holds a password. Write that into .pgpass in state_dir, mode 0600.")


def check_public_url(url: str) -> None:
    """Refuse what is not an http or https address without a path; empty is accepted.

    Args:
        url: The value in the file.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    parts = urlsplit(url)
    is_plain = parts.path in {"", "/"} and not (parts.query or parts.username)
    if url and (parts.scheme not in {"http", "https"} or not parts.hostname or not is_plain):
        raise ValueError("it must look like https://portal.example.com; a path is for base_url.")


def check_base_url(path: str) -> None:
    """Refuse what is not a path with a slash at both ends.

    Args:
        path: The value in the file.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    if not BASE_URL.fullmatch(path):
        raise ValueError(
            'it must look like "/jupyter/": a slash at both ends, and letters, digits, ".", "_",'
            ' "~" and "-" between.'
        )


def check_ldap_servers(servers: tuple[str, ...]) -> None:
    """Refuse an empty list and anything that is not an LDAP address.

    Args:
        servers: The value in the file.

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
        if parts.port == 0:
            raise ValueError(f"{server!r} has port 0.")


def check_dn_template(template: str) -> None:
    """Refuse a template without exactly one {username}.

    Args:
        template: The value in the file.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    if template.count("{username}") != 1 or re.search(r"[{}]", template.replace("{username}", "")):
        raise ValueError("it must hold {username} once, and no other braces.")


def check_user_names(names: tuple[str, ...]) -> None:
    """Refuse names that no UNIX account has.

    Args:
        names: The value in the file.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    for name in names:
        if name != name.strip().lower() or not name:
            raise ValueError(f"{name!r} is not a user name in small letters.")


def check_slurm_names(names: tuple[str, ...]) -> None:
    """Refuse names that Slurm gives to no account, QOS, reservation or GPU type.

    Args:
        names: The value in the file.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    for name in names:
        if not SLURM_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not a name in Slurm: letters, digits, '_', '.', '-'.")


def check_folders(folders: tuple[str, ...]) -> None:
    """Refuse what is no absolute path of a folder that can be bound into an image.

    Args:
        folders: The value in the file.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    for folder in folders:
        if not folder.startswith("/") or re.search(r"[:,\s]", folder):
            raise ValueError(f"{folder!r} is not an absolute path without ':', ',' and spaces.")


def check_folder(folder: str) -> None:
    """Refuse what is no absolute path of a folder; empty is accepted.

    Args:
        folder: The value in the file.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    if folder and (not folder.startswith("/") or not folder.isprintable()):
        raise ValueError("it must be an absolute path.")


def check_template_sources(places: tuple[str, ...]) -> None:
    """Refuse what is neither an absolute path nor the address of a git repository.

    Args:
        places: The value in the file.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    for place in places:
        if not re.fullmatch(r"(?:/|https://|ssh://|file:///)[^\s@][^\s]*", place):
            raise ValueError(
                f"{place!r} is neither an absolute path nor an https:// or ssh:// address."
            )
        if "@" in place and place.startswith("https://"):
            raise ValueError(f"{place!r} holds a password; every user can read it in a session.")


def check_tool_command(command: tuple[str, ...]) -> None:
    """Refuse a command that is told neither a socket nor a port, or is no absolute path.

    Args:
        command: The value in the file.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    if not command or not command[0].startswith("/"):
        raise ValueError("it must begin with the absolute path of a program.")
    told = [name for name in ("{unix_socket}", "{port}") if name in " ".join(command[1:])]
    if len(told) != 1:
        raise ValueError("one of its arguments must hold {unix_socket}, or one {port}.")
