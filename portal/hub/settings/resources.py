"""The tables [resources], [choices] and [forecast] of portal.toml: what a session may ask for."""

from __future__ import annotations

from dataclasses import dataclass

from dsportal.amounts import SECONDS_PER_HOUR
from portal.hub.formatting import MIB_PER_GIB
from portal.hub.settings.schema import setting
from portal.hub.settings.validators import check_slurm_names
from spawner.defaults import DEFAULTS


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSettings:
    """What comes with each GPU, and for how long."""

    cores_per_gpu: int = setting(
        "CPU cores that come with each GPU.", default=DEFAULTS.cores_per_gpu, lowest=1, highest=1024
    )
    memory_per_gpu_gib: float = setting(
        "Memory that comes with each GPU, in GiB.",
        default=DEFAULTS.memory_mib_per_gpu / MIB_PER_GIB,
        lowest=0.125,
        highest=16384,
    )
    # At least a minute, the unit of Slurm's time limits.
    session_hours: float = setting(
        "Length of a session, in hours.",
        default=DEFAULTS.default_walltime_s / SECONDS_PER_HOUR,
        lowest=1 / 60,
        highest=8760,
    )
    max_session_hours: float = setting(
        "Longest session that a user may ask for, in hours.",
        default=DEFAULTS.max_walltime_s / SECONDS_PER_HOUR,
        lowest=1 / 60,
        highest=8760,
    )
    # Not below 1024: users cannot open such a port.
    port_min: int = setting(
        "Lowest port that a session listens on, on its node.",
        default=DEFAULTS.port_min,
        lowest=1024,
        highest=65535,
    )
    port_max: int = setting(
        "Highest such port.", default=DEFAULTS.port_max, lowest=1024, highest=65535
    )
    any_port: bool = setting(
        "Whether a session takes any other port if users' programs hold all of these on its node."
        " The nodes' firewall has to let the hub reach it: net.ipv4.ip_local_port_range says"
        " which ports the kernel hands out, usually 32768 to 60999.",
        default=DEFAULTS.any_port,
    )
    log_mib: int = setting(
        "Largest log of a session, in MiB; the oldest lines are dropped. The log is in the user's"
        " home. 0 for no limit.",
        default=20,
        lowest=0,
        highest=65536,
    )

    def __post_init__(self) -> None:
        if self.session_hours > self.max_session_hours:
            raise ValueError(
                f"session_hours is {self.session_hours:g}, above max_session_hours"
                f" ({self.max_session_hours:g}). Lower the first or raise the second."
            )
        if self.port_max < self.port_min:
            raise ValueError(
                f"port_max is {self.port_max}, below port_min ({self.port_min}). Swap them."
            )

    @property
    def memory_mib_per_gpu(self) -> int:
        """Memory that comes with each GPU, in MiB."""
        # Slurm counts whole MiB.
        return round(self.memory_per_gpu_gib * MIB_PER_GIB)

    @property
    def session_s(self) -> int:
        """Length of a session, in seconds."""
        return round(self.session_hours * SECONDS_PER_HOUR)

    @property
    def max_session_s(self) -> int:
        """Longest session that a user may choose, in seconds."""
        return round(self.max_session_hours * SECONDS_PER_HOUR)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceSettings:
    """What users may choose. Slurm's own limits of a user count as well."""

    max_gpus: int = setting(
        "Most GPUs of one session. 0: as many as the largest node has.",
        default=0,
        lowest=0,
        highest=1024,
    )
    allow_cpu_only: bool = setting(
        "Whether sessions without a GPU are offered; they get the cores and memory of one GPU.",
        default=DEFAULTS.allow_cpu_only,
    )
    gpu_types: tuple[str, ...] = setting(
        "GPU types, MIG profiles or shards offered. Empty: all that Slurm has.",
        default=(),
        check=check_slurm_names,
    )
    accounts: tuple[str, ...] = setting(
        "Slurm accounts that users may name on the form. Empty: each has their default account.",
        default=(),
        check=check_slurm_names,
    )
    qos: tuple[str, ...] = setting(
        "Slurm's qualities of service that users may name. Empty: none.",
        default=(),
        check=check_slurm_names,
    )
    reservations: tuple[str, ...] = setting(
        "Slurm reservations that users may name. Empty: none.",
        default=(),
        check=check_slurm_names,
    )

    @property
    def gpu_limit(self) -> int | None:
        """Most GPUs of one session; None for as many as the largest node has."""
        # TOML has no null: 0 is "not set".
        return self.max_gpus or None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastSettings:
    """When a session would start, as Slurm forecasts it (sbatch --test-only)."""

    asks_per_minute: int = setting(
        "Most queries to Slurm per minute, over all users; answers are shared for a minute,"
        " or three while many users ask. 0: the form shows only what is free.",
        default=DEFAULTS.forecasts_per_minute,
        lowest=0,
        highest=6000,
    )
    wait_s: float = setting(
        "Longest wait for such answers before the form is shown, in seconds. The page itself fills"
        " in later ones.",
        default=0.3,
        lowest=0,
        highest=10,
    )
