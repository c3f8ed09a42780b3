"""The cluster's network: a bridge on this machine, a network namespace for each node."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.common.command import run
from deploy.common.errors import CommandError, DeployError
from deploy.common.files import ensure_file, read_plain
from deploy.one_machine.layout import NODES_DIR
from deploy.one_machine.resolver import ensure_resolv_conf

HEAD_NAME = "dsphead"
HEAD_ADDRESS = "10.77.0.1"
PREFIX_LENGTH = 24
NETWORK = f"10.77.0.0/{PREFIX_LENGTH}"
BRIDGE = "dspbridge"
HOSTS_FILE = NODES_DIR / "hosts"
NAMESPACES_DIR = Path("/run/netns")


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A compute node on the network.

    Args:
        name: At most 11 characters: a network device, here dsp-NAME, can have 15.
        address: IPv4 address, inside the bridge's network.
    """

    name: str
    address: str

    @property
    def namespace(self) -> str:
        """Name of its network namespace."""
        return f"dsp-{self.name}"

    @property
    def head_link(self) -> str:
        """Name of its veth device's end on the bridge."""
        return f"dsp-{self.name}"


def render_hosts(hosts: Sequence[Host]) -> str:
    """Return the /etc/hosts that head and nodes see."""
    lines = ["127.0.0.1 localhost", f"{HEAD_ADDRESS} {HEAD_NAME}"]
    return "\n".join([*lines, *(f"{host.address} {host.name}" for host in hosts)]) + "\n"


def namespace_path(host: Host) -> Path:
    """Return where ip(8) mounts a node's network namespace, if it exists."""
    return NAMESPACES_DIR / host.namespace


def ensure_network(hosts: Sequence[Host]) -> str:
    """Create the bridge, and a connected namespace for each node."""
    changed = ensure_file(HOSTS_FILE, render_hosts(hosts))
    changed |= ensure_resolv_conf()
    changed |= _ensure_bridge()
    for host in hosts:
        changed |= _ensure_host(host)
    return f"{BRIDGE} {HEAD_ADDRESS}/{PREFIX_LENGTH}" if changed else "unchanged"


def remove_network(hosts: Sequence[Host]) -> None:
    """Remove the bridge and the nodes' devices and namespaces."""
    for host in hosts:
        remove_host(host)
    if _is_device(BRIDGE):
        run(["ip", "link", "delete", BRIDGE])


def remove_host(host: Host) -> None:
    """Remove a node's network device and namespace."""
    if _is_device(host.head_link):
        # The other end, in the namespace, goes with it.
        run(["ip", "link", "delete", host.head_link])
    if namespace_path(host).exists():
        run(["ip", "netns", "delete", host.namespace])


def known_names() -> list[str]:
    """Return the nodes in the hosts file of head and nodes; none if there is no such file."""
    lines = (read_plain(HOSTS_FILE) or "").splitlines()
    names = [line.split()[1] for line in lines if len(line.split()) == 2]
    return [name for name in names if name not in {"localhost", HEAD_NAME}]


def _ensure_bridge() -> bool:
    if _is_device(BRIDGE):
        return False
    taken = run(["ip", "-o", "-4", "route", "show", "root", NETWORK]).strip()
    if taken:
        raise DeployError(
            f"This machine uses the network {NETWORK} already: {taken.splitlines()[0]}.",
            next_step="Use a machine without that network.",
        )
    try:
        run(["ip", "link", "add", BRIDGE, "type", "bridge"])
    except CommandError as error:
        if "not permitted" not in error.output:
            raise
        raise DeployError(
            "This machine does not let root make network devices (CAP_NET_ADMIN is missing); "
            "the compute nodes need some of their own.",
            next_step="Give the container --cap-add=NET_ADMIN --cap-add=SYS_ADMIN, "
            "or use a virtual machine.",
        ) from error
    try:
        run(["ip", "address", "add", f"{HEAD_ADDRESS}/{PREFIX_LENGTH}", "dev", BRIDGE])
        run(["ip", "link", "set", BRIDGE, "up"])
    except CommandError:
        # A bridge without an address would pass for a finished one in the next run.
        run(["ip", "link", "delete", BRIDGE])
        raise
    return True


def _ensure_host(host: Host) -> bool:
    if _is_namespace(host) and _is_device(host.head_link):
        return False
    if not _is_namespace(host):
        # A container that was killed keeps the name, and starts again without the namespace.
        namespace_path(host).unlink(missing_ok=True)
        run(["ip", "netns", "add", host.namespace])
    # Unlike "ip -n" this mounts no /sys, which root of a rootless container may not.
    inside = ("nsenter", f"--net={namespace_path(host)}", "ip")
    cable = ("type", "veth", "peer", "name", "eth0", "netns", host.namespace)
    run(["ip", "link", "add", host.head_link, *cable])
    run(["ip", "link", "set", host.head_link, "master", BRIDGE, "up"])
    run([*inside, "address", "add", f"{host.address}/{PREFIX_LENGTH}", "dev", "eth0"])
    run([*inside, "link", "set", "lo", "up"])
    run([*inside, "link", "set", "eth0", "up"])
    return True


def _is_device(name: str) -> bool:
    return Path("/sys/class/net", name).exists()


def _is_namespace(host: Host) -> bool:
    return os.path.ismount(namespace_path(host))
