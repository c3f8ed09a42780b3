"""Whether Slurm lets the hub's account see what it must see: everybody's jobs, and the nodes."""

from __future__ import annotations

import re
from datetime import datetime

_HIDDEN = re.compile(r"^PrivateData\s*=\s*(\S+)", re.MULTILINE)
_AS_OF = re.compile(r"^Configuration data as of (\S+)", re.MULTILINE)
_SETTING = re.compile(r"^(\w+)\s*= (.*)$", re.MULTILINE)
_NEEDED = ("jobs", "nodes", "partitions", "reservations")
CONFIG_ARGV = ("scontrol", "show", "config")


def level_argv(account: str) -> tuple[str, ...]:
    """Return the command that prints the level that accounting gives an account.

    Args:
        account: Name of the account that the hub runs as.

    Returns:
        Program and arguments.
    """
    return (
        *("sacctmgr", "--noheader", "--parsable2", "show", "user"),
        *(f"name={account}", "format=AdminLevel"),
    )


def parse_config(config: str) -> dict[str, str]:
    """Return what slurmctld runs with.

    Args:
        config: Output of `CONFIG_ARGV`.

    Returns:
        Texts by key: "SLURM_VERSION", and the keys of slurm.conf.

    Source:
        scontrol(1), show config, Slurm 22.05.8.
    """
    return {name: value.strip() for name, value in _SETTING.findall(config)}


def parse_clock(config: str) -> datetime | None:
    """Return what slurmctld's clock showed when it answered.

    Args:
        config: Output of `CONFIG_ARGV`.

    Returns:
        Local time without a zone, whole seconds; None where it is not said.

    Source:
        slurm_print_ctl_conf() of Slurm 22.05 to 25.11: slurmctld fills in the moment of its answer.
    """
    match = _AS_OF.search(config)
    try:
        return datetime.fromisoformat(match[1]) if match else None
    except ValueError:
        return None


def ahead_s(theirs: datetime, asked_at: datetime, answered_at: datetime) -> float:
    """Return by how much one clock is ahead of another at least.

    Args:
        theirs: What the other clock showed in between, in whole seconds.
        asked_at: What this one showed before.
        answered_at: What this one showed after.

    Returns:
        Seconds; 0 where both may show the same.
    """
    if theirs > answered_at:
        return (answered_at - theirs).total_seconds()
    return max(0.0, (asked_at - theirs).total_seconds() - 1)


def parse_hidden(config: str) -> frozenset[str]:
    """Return what Slurm hides from ordinary accounts that the portal has to see.

    Args:
        config: Output of `CONFIG_ARGV`.

    Returns:
        Some of "jobs", "nodes", "partitions" and "reservations".

    Source:
        slurm.conf(5), PrivateData, Slurm 22.05 to 25.11.
    """
    match = _HIDDEN.search(config)
    words = match[1].lower().split(",") if match else []
    return frozenset(words).intersection(_NEEDED)


def sees_all(level: str) -> bool:
    """Return whether an account of this level sees what is hidden from others.

    Args:
        level: Output of `level_argv`; empty for an account that accounting does not know.

    Returns:
        True for Slurm's operators and administrators.
    """
    return level.strip().lower() in {"operator", "administrator", "admin"}


def explain_hidden(hidden: frozenset[str], account: str) -> str:
    """Return why no session can start, and what cures it.

    Args:
        hidden: What the hub cannot see.
        account: Name of the account that the hub runs as.

    Returns:
        Two sentences for the page and the log.
    """
    return (
        f"Slurm hides {' and '.join(sorted(hidden))} of others from the portal (PrivateData), so "
        "it could not follow your session. Ask the administrators to make the portal's account "
        f"an operator: sacctmgr add user {account} account=root adminlevel=operator"
    )
