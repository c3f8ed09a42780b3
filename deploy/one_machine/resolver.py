"""The name servers that the nodes ask: those of this machine that can be asked from a node."""

import ipaddress
from pathlib import Path

from deploy.common.files import read_plain
from deploy.one_machine.layout import NODES_DIR

RESOLV_CONF = Path("/etc/resolv.conf")
# Source: systemd-resolved(8): the servers behind its own, which listens on 127.0.0.53.
SYSTEMD_RESOLV_CONF = Path("/run/systemd/resolve/resolv.conf")
NODES_RESOLV_CONF = NODES_DIR / "resolv.conf"


def name_servers(resolv_conf: str) -> tuple[str, ...]:
    """Return the name servers of a resolv.conf(5) that a node can ask.

    Returns:
        Those with an IPv4 address, which is what nodes have, other than this machine's own.
    """
    lines = (line.split() for line in resolv_conf.splitlines())
    words = [line[1] for line in lines if len(line) > 1 and line[0] == "nameserver"]
    return tuple(word for word in words if _is_elsewhere(word))


def render_resolv_conf(resolv_conf: str) -> str:
    """Return a resolv.conf(5) for the nodes: this one without the servers that they cannot ask."""
    servers = name_servers(resolv_conf)
    lines = [line.rstrip() for line in resolv_conf.splitlines()]
    kept = [line for line in lines if line and line[0] not in "#;" and not _names_server(line)]
    return "".join(f"{line}\n" for line in [*kept, *(f"nameserver {one}" for one in servers)])


def ensure_resolv_conf() -> bool:
    """Write the nodes' resolv.conf; return whether it had to be."""
    text = render_resolv_conf(machines_resolv_conf())
    if read_plain(NODES_RESOLV_CONF) == text:
        return False
    # In place: running nodes have this very file mounted.
    NODES_RESOLV_CONF.write_text(text)
    return True


def machines_resolv_conf() -> str:
    """Return this machine's resolv.conf, or that of the servers behind systemd-resolved."""
    # Either may be a link, as systemd-resolved makes it.
    texts = [
        path.read_text(errors="replace") if path.is_file() else ""
        for path in (RESOLV_CONF, SYSTEMD_RESOLV_CONF)
    ]
    return next((text for text in texts if name_servers(text)), texts[0])


def _names_server(line: str) -> bool:
    return line.split()[0] == "nameserver"


def _is_elsewhere(word: str) -> bool:
    try:
        address = ipaddress.IPv4Address(word)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified)
