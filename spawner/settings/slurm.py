"""The table [slurm] of portal.toml."""

from dataclasses import dataclass

from spawner.settings.schema import setting


@dataclass(frozen=True, kw_only=True)
class SlurmSettings:
    """How often Slurm is queried, and how long it may take. One query is for all sessions."""

    title: str = setting(
        "Name of the cluster on the form. Only where there are several: see [clusters.NAME].",
        default="this cluster",
        trait="slurm_title",
    )
    # One squeue for all sessions; with 500 jobs it took 13 ms (Slurm 22.05).
    watch_waiting_s: float = setting(
        "Seconds between two queries of the sessions that wait or start.",
        default=2.0,
        lowest=0.5,
        highest=300,
    )
    watch_running_s: float = setting(
        "Seconds between two queries of all sessions.", default=15.0, lowest=1, highest=300
    )
    timeout_s: float = setting(
        "Seconds after which a query is abandoned. That ends no session.",
        default=8.0,
        lowest=1,
        highest=120,
        trait="slurm_timeout_s",
    )
    running_start_timeout_s: int = setting(
        "Seconds from the moment a session's job runs until its server has to answer. Time in the"
        " queue does not count, and has no limit.",
        default=300,
        lowest=1,
        highest=3600,
    )
