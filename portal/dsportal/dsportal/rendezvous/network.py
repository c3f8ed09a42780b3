"""Addresses and interfaces of this node on the cluster's network."""

import array
import fcntl
import os
import re
import socket
import struct
import subprocess
from contextlib import suppress

_SIOCGIFADDR = 0x8915
_TIMEOUT_S = 10
_NODE_ADDRESS = re.compile(r"\bNodeAddr=(\S+)")
LOOPBACK = "127.0.0.1"


def this_node() -> str:
    """Return Slurm's name of this node, which may differ from the host name."""
    return os.environ.get("SLURMD_NODENAME") or os.uname().nodename


def address_of_node(node: str) -> str:
    """Return the IPv4 address by which other nodes reach a node, by Slurm's name of it.

    It is what Slurm itself uses, otherwise what the name resolves to; 127.0.0.1 if both are
    unknown.

    Source:
        scontrol(1), show node, Slurm 22.05: NodeAddr.
    """
    name = node
    with suppress(OSError, subprocess.SubprocessError):
        said = subprocess.run(
            # Asked first: a host name may resolve to 127.0.1.1, or to a network that nodes do not
            # share.
            ["scontrol", "--oneliner", "show", "node", node],
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        ).stdout
        found = _NODE_ADDRESS.search(said)
        name = found[1] if found else node
    with suppress(OSError):
        return socket.gethostbyname(name)
    return LOOPBACK


def address_towards(host: str) -> str:
    """Return this node's own IPv4 address on the route to a host, given by its IPv4 address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, 9))  # a datagram socket sends nothing here
        return str(probe.getsockname()[0])


def find_interface(address: str) -> str:
    """Return the network interface with an IPv4 address, such as "ib0"; empty if there is none.

    Source:
        netdevice(7), SIOCGIFADDR.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            request = array.array("B", struct.pack("256s", name.encode()[:15]))
            with suppress(OSError):
                # Fails for an interface without an IPv4 address.
                fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, request)
                if socket.inet_ntoa(request[20:24].tobytes()) == address:
                    return name
    return ""
