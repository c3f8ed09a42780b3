"""The options of a session, by the key that they have in forms, links and REST."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option of a session.

    A plain option is a name out of a list of the site's: parser, check, form field, link and option
    of sbatch follow from its row. The others have rules of their own in `JobOptions`.

    Attributes:
        label: On the form.
        called: In sentences.
        listed_in: The spawner's trait, and key of [choices], that lists the names which users may
            give; empty for an option with rules of its own.
        flag: Long option of sbatch for a plain option, without dashes; empty if Slurm has none.
        left_out: On the form, what it means to give no name.
        is_advanced: Whether the form collapses it.
    """

    label: str = ""
    called: str = ""
    listed_in: str = ""
    flag: str = ""
    left_out: str = "your default"
    is_advanced: bool = True


# A session that names no value of a plain option has batchspawner's req_KEY, if there is one.
OPTIONS: dict[str, Option] = {
    "gpus": Option(label="GPUs"),
    "cluster": Option(label="Cluster"),
    "gpu_type": Option(label="GPU type"),
    "partition": Option(label="Partition"),
    "hours": Option(label="Length"),
    "account": Option(label="Account", called="account", listed_in="accounts", flag="account"),
    "qos": Option(label="Quality of service", called="QOS", listed_in="qos", flag="qos"),
    "reservation": Option(
        label="Reservation",
        called="reservation",
        listed_in="reservations",
        flag="reservation",
        left_out="none",
    ),
    "opens": Option(
        label="Opens",
        called="page",
        listed_in="pages",
        left_out="JupyterLab",
        is_advanced=False,
    ),
    "mail": Option(
        label="Notify me",
        called="time of messages",
        listed_in="mail_times",
        left_out="never",
        is_advanced=False,
    ),
    "rescue": Option(),
}


def plain_options() -> Iterator[tuple[str, Option]]:
    """Yield key and option of those whose names the site lists, in the form's order."""
    return ((key, option) for key, option in OPTIONS.items() if option.listed_in)
