"""What the nodes may reach past this machine, and what may not be reached through it.

Without a way to the internet a node reaches the other nodes and this machine at HEAD_ADDRESS, and
these rules leave it at that but for the uplink: no other address of this machine, no virtual
network on it, and not the link-local addresses at which clouds hand out a machine's credentials.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from deploy.one_machine.network import BRIDGE, HEAD_ADDRESS, NETWORK

TABLE = "dsportal"
LINK_LOCAL = "169.254.0.0/16"
_SWITCHED_ON = re.compile(r'comment "forwarding switched on: (\S+)"')


def render_table(uplink: str, name_servers: Sequence[str], *, is_switched_on: bool) -> str:
    """Return the table in the words of nft(8), which replaces one of the same name.

    Args:
        uplink: Network device of this machine's default route.
        name_servers: IPv4 addresses that may be asked wherever they are; a cloud has them among
            the link-local ones. At least one.
        is_switched_on: deploy/up has made this machine forward what comes in there. It must not
            become a router for its neighbours by that.
    """
    comment = f'comment "forwarding switched on: {uplink}"' if is_switched_on else ""
    # What somebody has redirected on purpose, as a published port of a container, goes on.
    of_neighbours = f"""
        iifname "{uplink}" ct state established,related accept
        iifname "{uplink}" ct status dnat accept
        iifname "{uplink}" drop"""
    return f"""\
add table ip {TABLE}
delete table ip {TABLE}
table ip {TABLE} {{
    {comment}
    chain input {{
        type filter hook input priority filter; policy accept;
        iifname "{BRIDGE}" ip daddr != {HEAD_ADDRESS} reject
    }}
    chain forward {{
        type filter hook forward priority filter; policy accept;
        iifname "{BRIDGE}" oifname "{BRIDGE}" accept
        iifname "{BRIDGE}" goto from_nodes
        oifname "{BRIDGE}" ct state established,related accept
        oifname "{BRIDGE}" drop{of_neighbours if is_switched_on else ""}
    }}
    chain from_nodes {{
        oifname != "{uplink}" reject
        ip saddr != {NETWORK} drop
        tcp flags syn tcp option maxseg size set rt mtu
        ip daddr {{ {", ".join(name_servers)} }} th dport 53 accept
        ip daddr {LINK_LOCAL} reject
        accept
    }}
    chain postrouting {{
        type nat hook postrouting priority srcnat; policy accept;
        ip saddr {NETWORK} oifname "{uplink}" masquerade
    }}
}}
"""


def switched_on(table: str) -> str | None:
    """Return the device whose forwarding deploy/up has switched on.

    Args:
        table: What nft(8) lists of the table; it is lost when forwarding is, with the machine's
            or the container's network.
    """
    found = _SWITCHED_ON.search(table)
    return found[1] if found else None
