"""Whether Slurm shows the hub's account what the portal needs: all users' jobs, and the nodes."""

import re
from datetime import datetime

_HIDDEN = re.compile(r"^PrivateData\s*=\s*(\S+)", re.MULTILINE)
_AS_OF = re.compile(r"^Configuration data as of (\S+)", re.MULTILINE)
_SETTING = re.compile(r"^(\w+)\s*= (.*)$", re.MULTILINE)
# PrivateData can also hide accounts, users and usage; sessions start without a sight of those.
_NEEDED = ("jobs", "nodes", "partitions", "reservations")
CONFIG_ARGV = ("scontrol", "show", "config")


def level_argv(account: str) -> tuple[str, ...]:
    """Return the command that prints an account's admin level in Slurm's accounting."""
    return (
        *("sacctmgr", "--noheader", "--parsable2", "show", "user"),
        *(f"name={account}", "format=AdminLevel"),
    )


def parse_config(config: str) -> dict[str, str]:
    """Return slurmctld's configuration from the output of `CONFIG_ARGV`.

    Keys are "SLURM_VERSION" and those of slurm.conf.

    Source:
        scontrol(1), show config, Slurm 22.05.8.
    """
    return {name: value.strip() for name, value in _SETTING.findall(config)}


def parse_clock(config: str) -> datetime | None:
    """Return slurmctld's time when it answered, from the output of `CONFIG_ARGV`.

    It is local time without a zone, in whole seconds; None if the output does not say.

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
        theirs: Time of the other clock in between, in whole seconds.
        asked_at: Time of this clock before.
        answered_at: Time of this clock after.

    Returns:
        Seconds; negative if it is behind, 0 if both clocks may agree.
    """
    # Rounded down and still later than our clock: that one is surely behind.
    if theirs > answered_at:
        return (answered_at - theirs).total_seconds()
    # Their whole seconds are rounded down, so up to one second of the difference is no evidence.
    return max(0.0, (asked_at - theirs).total_seconds() - 1)


def parse_hidden(config: str) -> frozenset[str]:
    """Return what PrivateData hides from ordinary accounts although the portal needs it.

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
    """Return whether this admin level lifts PrivateData: true for operators and administrators.

    Args:
        level: Output of `level_argv`; empty for an account that accounting does not know.
    """
    return level.strip().lower() in {"operator", "administrator", "admin"}


def explain_hidden(hidden: frozenset[str], account: str) -> str:
    """Return two sentences for page and log: why no session can start, and the cure."""
    return (
        f"Slurm hides {' and '.join(sorted(hidden))} of others from the portal (PrivateData), so "
        "it could not follow your session. Ask the administrators to make the portal's account "
        f"an operator: sacctmgr add user {account} account=root adminlevel=operator"
    )
