"""Who holds the ports for sessions: written to the log by the node, read there by the hub."""

import pwd
import re
from collections import Counter
from pathlib import Path

from dsportal.start.tcp_table import FOLDER, WINDS_DOWN, read_tcp_table

_N_NAMED = 3
_SENTENCE = re.compile(r"No port from [0-9]+ to [0-9]+ is free on [^\n]*")
NEXT_STEP = "Show this to the administrators, or start a new session on another node."
TAKES_ANOTHER = "The session takes another port."


def describe_taken(address: str, port_min: int, port_max: int, tables: Path = FOLDER) -> str:
    """Return a sentence on who holds most ports of a node from `port_min` to `port_max`."""
    owners = port_owners(port_min, port_max, tables).most_common(_N_NAMED)
    # The kernel does not list sockets that are bound but do not listen.
    named = ", ".join(f"{_name(uid)} holds {n}" for uid, n in owners) or "nobody listens there"
    return f"No port from {port_min} to {port_max} is free on {address}: {named}."


def port_owners(port_min: int, port_max: int, tables: Path = FOLDER) -> Counter[int]:
    """Count the ports from `port_min` to `port_max` by the uid of who holds them."""
    # By port, which may be in both tables and held at several addresses. The kernel lists a closed
    # connection without its owner.
    owners = {
        one.port: one.uid
        for one in read_tcp_table(tables)
        if one.state != WINDS_DOWN and port_min <= one.port <= port_max
    }
    return Counter(owners.values())


def find_taken(log_lines: str) -> str:
    """Return the last sentence of `describe_taken` in a session's log, or "".

    Args:
        log_lines: The log, or its end. The session's user may have written it.
    """
    found = _SENTENCE.findall(log_lines)
    return (
        str(found[-1]).removesuffix(f" {TAKES_ANOTHER}").removesuffix(f" {NEXT_STEP}")
        if found
        else ""
    )


def ended_for_ports(log_lines: str) -> str:
    """Return the sentence of `describe_taken` if that is why a session ended, or "".

    Args:
        log_lines: The end of its log. The session's user may have written it.
    """
    last = log_lines.rpartition("\n")[2]
    return find_taken(last) if last.endswith(NEXT_STEP) else ""


def _name(uid: int) -> str:
    try:
        return f"{pwd.getpwuid(uid).pw_name} (uid {uid})"
    except KeyError:
        return f"uid {uid}"
