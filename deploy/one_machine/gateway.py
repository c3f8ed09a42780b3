"""The nodes' way to the internet: through this machine, under its address."""

import contextlib
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from deploy.common.command import CLEAN_ENVIRONMENT, run, succeeds
from deploy.common.errors import CommandError, DeployError
from deploy.one_machine.cluster import Node
from deploy.one_machine.layout import render
from deploy.one_machine.network import BRIDGE, HEAD_ADDRESS, NETWORK, Host, namespace_path
from deploy.one_machine.resolver import machines_resolv_conf, name_servers
from deploy.one_machine.supervisor import pid_of

TABLE = "dsportal"
_SWITCHED_ON = re.compile(r'comment "forwarding switched on: (\S+)"')
LIST_TABLE = ("nft", "list", "table", "ip", TABLE)
# What pip asks, unless pip.conf names another index. No such name is an answer, too; only silence
# is none.
LOOK_UP = """\
import socket, sys
try:
    socket.getaddrinfo("pypi.org", 443)
except socket.gaierror as error:
    sys.exit(error.errno == socket.EAI_AGAIN)
"""
LOOK_UP_TIMEOUT_S = 15
# Of no host: RFC 5737 keeps it for documentation. Its route is that of most addresses, which need
# not be the default route's where there is a VPN.
ON_THE_INTERNET = "192.0.2.1"


class NoWayError(Exception):
    """The nodes cannot have a way to the internet; the text says why, and what to do."""


class Gateway:
    """This machine, as the nodes' router to the internet."""

    def __init__(self, nodes: tuple[Node, ...], *, is_wanted: bool = True) -> None:
        self._nodes = nodes
        self._is_wanted = is_wanted
        self.refusal = ""

    def ensure(self) -> str:
        """Give the nodes their way, or take it from them if it does not work.

        A machine without internet, or one that may not forward, is no failure: sessions only lack
        what they would download.
        """
        if not self._is_wanted:
            return self._refuse("--offline-nodes was given.")
        try:
            return self._open()
        except (NoWayError, DeployError, OSError) as error:
            return self._refuse(_last_line(error))

    def _refuse(self, reason: str) -> str:
        close([node.host for node in self._nodes])
        self.refusal = reason
        return f"none: {reason}"

    def _open(self) -> str:
        uplink = find_uplink()
        servers = name_servers(machines_resolv_conf())
        if not servers:
            raise NoWayError(
                "No name server in /etc/resolv.conf can be asked from a node; that needs an IPv4 "
                "address other than this machine's own."
            )
        has_changed = _ensure_rules(uplink, servers)
        for node in self._nodes:
            default = ("ip", "route", "replace", "default", "via", HEAD_ADDRESS)
            run(["nsenter", f"--net={namespace_path(node.host)}", *default])
        if not all(finds_names(node) for node in self._nodes):
            raise NoWayError(
                f"{', '.join(servers)} did not answer the nodes; does 'nft list ruleset' show a "
                "firewall of this machine that does not let them through?"
            )
        return f"through {uplink}" if has_changed else "unchanged"


def render_table(uplink: str, name_servers: Sequence[str], *, is_switched_on: bool) -> str:
    """Return the table in the words of nft(8), which replaces one of the same name.

    Args:
        uplink: Network device of this machine's default route.
        name_servers: IPv4 addresses, at least one.
        is_switched_on: deploy/up has made this machine forward what comes in there. It must not
            become a router for its neighbours by that.
    """
    # What somebody has redirected on purpose, as a published port of a container, goes on.
    of_neighbours = ("ct state established,related accept", "ct status dnat accept", "drop")
    refusals = [f'iifname "{uplink}" {rule}' for rule in of_neighbours] if is_switched_on else []
    return render(
        "nftables.conf",
        TABLE=TABLE,
        BRIDGE=BRIDGE,
        HEAD_ADDRESS=HEAD_ADDRESS,
        NETWORK=NETWORK,
        UPLINK=uplink,
        NAME_SERVERS=", ".join(name_servers),
        COMMENT=f'comment "forwarding switched on: {uplink}"' if is_switched_on else "",
        OF_NEIGHBOURS="\n        ".join(refusals),
    )


def switched_on(table: str) -> str | None:
    """Return the device whose forwarding deploy/up has switched on.

    Args:
        table: What nft(8) lists of the table; it is lost when forwarding is, with the machine's
            or the container's network.
    """
    found = _SWITCHED_ON.search(table)
    return found[1] if found else None


def find_uplink() -> str:
    """Return the network device by which this machine reaches the internet."""
    try:
        route = run(["ip", "-4", "route", "get", ON_THE_INTERNET])
    except CommandError as error:
        raise NoWayError("This machine has no route to the internet for IPv4.") from error
    return parse_device(route)


def parse_device(route: str) -> str:
    """Return the device of a route as ip(8) shows it."""
    found = re.search(r"\bdev (\S+)", route)
    if found is None or found[1] == "lo":
        raise NoWayError(f"This machine's route to the internet leads nowhere: {route.strip()}")
    return found[1]


def finds_names(node: Node) -> bool:
    """Return whether a name server answers a node."""
    pid = pid_of(node.host.name)
    if pid is None:
        return False
    namespaces = (f"--target={pid}", "--net", "--mount")
    argv = ["nsenter", *namespaces, "/usr/bin/python3", "-I", "-c", LOOK_UP]
    return succeeds(argv, timeout_s=LOOK_UP_TIMEOUT_S)


def close(hosts: Sequence[Host]) -> None:
    """Take the way from the nodes again, and leave this machine as it was."""
    # First: with a route and without the rules they would reach what they did not before.
    for host in hosts:
        _remove_default_route(host)
    if shutil.which("nft", path=CLEAN_ENVIRONMENT["PATH"]) is None:
        return
    table = _listed_table()
    _switch_off(switched_on(table))
    if table:
        run(["nft", "delete", "table", "ip", TABLE])


def _ensure_rules(uplink: str, servers: tuple[str, ...]) -> bool:
    before = _listed_table()
    ours = switched_on(before)
    if ours != uplink:
        _switch_off(ours)
    is_switched_on = ours == uplink or not _forwards(uplink)
    # Before anything is forwarded.
    run(["nft", "-f", "-"], stdin=render_table(uplink, servers, is_switched_on=is_switched_on))
    changed = [device for device in (BRIDGE, uplink) if not _forwards(device)]
    for device in changed:
        _forwarding(device).write_text("1")
    return bool(changed) or _listed_table() != before


def _listed_table() -> str:
    """Return what nft(8) lists of our table; nothing if there is none."""
    try:
        return run(LIST_TABLE)
    except CommandError:
        return ""


def _switch_off(device: str | None) -> None:
    # A device that is gone forwards nothing, and one that could not be switched on needs no rights.
    with contextlib.suppress(FileNotFoundError):
        if device is not None and _forwards(device):
            _forwarding(device).write_text("0")


def _forwards(device: str) -> bool:
    return _forwarding(device).read_text().strip() != "0"


def _forwarding(device: str) -> Path:
    return Path("/proc/sys/net/ipv4/conf", device, "forwarding")


def _remove_default_route(host: Host) -> None:
    # The name of a namespace outlives it in a container that was killed.
    if os.path.ismount(namespace_path(host)):
        run(["nsenter", f"--net={namespace_path(host)}", "ip", "-4", "route", "flush", "default"])


def _last_line(error: Exception) -> str:
    # Of a command, what it said last: the cause.
    return (str(error) or type(error).__name__).splitlines()[-1]
