"""The tables of portal.toml whose keys are also traits of the spawner."""

# ruff: noqa: RUF009 - setting() returns a dataclass field, not a shared value

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dsportal.amounts import MIB_PER_GIB, SECONDS_PER_HOUR, SECONDS_PER_MINUTE
from spawner.settings.schema import setting
from spawner.slurm.names import is_name
from spawner.slurm.resources import ResourcesPerGpu

MOST_WARNING_MINUTES = 24 * 60


def check_slurm_names(names: tuple[str, ...]) -> str:
    """Refuse names that cannot be Slurm accounts, QOS, reservations or GPU types."""
    wrong = [name for name in names if not is_name(name)]
    return f"{wrong[0]!r} is not one name: no comma, no dash in front." if wrong else ""


def check_minutes(minutes: tuple[int, ...]) -> str:
    """Refuse minutes of warnings that repeat, or are outside 1 minute to 1 day."""
    is_in_range = all(0 < one <= MOST_WARNING_MINUTES for one in minutes)
    is_right = is_in_range and len(set(minutes)) == len(minutes)
    return "" if is_right else f"give different whole numbers from 1 to {MOST_WARNING_MINUTES}."


@dataclass(frozen=True, kw_only=True)
class SiteSettings:
    """How the portal presents itself."""

    name: str = setting(
        "Name of the portal on every page.", default="Data Scientist Portal", trait=None
    )
    support: str = setting(
        "Whom to ask, shown on the login page and on error pages: an address or a short sentence.",
        default="",
        example="help@example.com",
        trait=None,
    )
    announcements: Path = setting(
        "File with the site's announcements, read again whenever it changes. It need not exist.",
        default=Path("/etc/data-scientist-portal/announcements.toml"),
        trait=None,
    )
    simulated_gpus: bool = setting(
        "Whether the GPUs are simulated: Slurm allocates them, but they compute nothing. Every page"
        " then says so.",
        default=False,
    )


@dataclass(frozen=True, kw_only=True)
class ResourceSettings:
    """What comes with each GPU, and for how long."""

    # Source: 8 cores and 48 GB: Dell EMC, Deep Learning with NVIDIA, 2018, section 5.1.
    cores_per_gpu: int = setting(
        "CPU cores that come with each GPU. Lowered automatically on nodes that have fewer.",
        default=8,
        lowest=1,
        highest=1024,
    )
    memory_per_gpu_gib: float = setting(
        "Memory that comes with each GPU, in GiB. Lowered automatically on nodes that have less.",
        default=48.0,
        lowest=0.125,
        highest=16384,
    )
    cores_without_gpu: int = setting(
        "CPU cores of a session without a GPU.", default=2, lowest=1, highest=1024
    )
    memory_without_gpu_gib: float = setting(
        "Memory of a session without a GPU, in GiB.", default=8.0, lowest=0.125, highest=16384
    )
    # At least a minute, the unit of Slurm's time limits.
    session_hours: float = setting(
        "Length of a session whose user names none, in hours.",
        default=8.0,
        lowest=1 / 60,
        highest=8760,
    )
    max_session_hours: float = setting(
        "Longest session that a user may ask for, in hours.",
        default=24.0,
        lowest=1 / 60,
        highest=8760,
    )
    # Not below 1024: users cannot open such a port. Below 32768, where Linux's ports for outgoing
    # connections begin: those would take some of them.
    port_min: int = setting(
        "Lowest port that a session listens on, on its node.",
        default=30000,
        lowest=1024,
        highest=65535,
    )
    port_max: int = setting("Highest such port.", default=32767, lowest=1024, highest=65535)
    any_port: bool = setting(
        "Whether a session takes any other port if users' programs hold all of these on its node."
        " The nodes' firewall has to let the hub reach it: net.ipv4.ip_local_port_range says"
        " which ports the kernel hands out, usually 32768 to 60999.",
        default=True,
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
    def per_gpu(self) -> ResourcesPerGpu:
        """The site's rule for cores and memory per GPU."""
        return ResourcesPerGpu(
            cores_per_gpu=self.cores_per_gpu,
            memory_mib_per_gpu=self.memory_mib_per_gpu,
            cores_without_gpu=self.cores_without_gpu,
            memory_mib_without_gpu=round(self.memory_without_gpu_gib * MIB_PER_GIB),
        )

    @property
    def walltime_s(self) -> int:
        """Length of a session, in seconds."""
        return round(self.session_hours * SECONDS_PER_HOUR)

    @property
    def max_walltime_s(self) -> int:
        """Longest session that a user may choose, in seconds."""
        return round(self.max_session_hours * SECONDS_PER_HOUR)


@dataclass(frozen=True, kw_only=True)
class ChoiceSettings:
    """What users may choose. Slurm's own limits of a user count as well."""

    max_gpus: int = setting(
        "Most GPUs of one session. 0: as many as the largest node has.",
        default=0,
        lowest=0,
        highest=1024,
    )
    allow_cpu_only: bool = setting(
        "Whether sessions without a GPU are offered.",
        default=True,
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
    sessions_per_user: int = setting(
        "Most sessions of one user at a time. If 2 or more, the home page lets users add named"
        " sessions.",
        default=1,
        lowest=1,
        highest=100,
        trait=None,
    )


@dataclass(frozen=True, kw_only=True)
class ForecastSettings:
    """When a session would start, as Slurm forecasts it (sbatch --test-only)."""

    # Each costs slurmctld about as much as a submission.
    asks_per_minute: int = setting(
        "Most queries to Slurm per minute, over all users; answers are shared for a minute,"
        " or three while many users ask. 0: the form shows only what is free.",
        default=30,
        lowest=0,
        highest=6000,
        trait="forecasts_per_minute",
    )
    wait_s: float = setting(
        "Longest wait for such answers before the form is shown, in seconds. The page itself fills"
        " in later ones.",
        default=0.3,
        lowest=0,
        highest=10,
        trait="forecast_wait_s",
    )


@dataclass(frozen=True, kw_only=True)
class RescueSettings:
    """Small sessions without a GPU for cleaning up a full home."""

    rescue_hours: float = setting(
        "Length of a rescue session, in hours: a small session without a GPU that starts even if"
        " the home is full. 0: none are offered.",
        default=1.0,
        lowest=0,
        highest=24,
    )
    rescue_cores: int = setting("CPU cores of a rescue session.", default=1, lowest=1, highest=1024)
    rescue_memory_gib: float = setting(
        "Memory of a rescue session, in GiB.", default=2.0, lowest=0.25, highest=1024
    )

    @property
    def rescue_walltime_s(self) -> int:
        """Length of a rescue session, in seconds."""
        return round(self.rescue_hours * SECONDS_PER_HOUR)

    @property
    def rescue_memory_mib(self) -> int:
        """Memory of a rescue session, in MiB."""
        return round(self.rescue_memory_gib * MIB_PER_GIB)


@dataclass(frozen=True, kw_only=True)
class SlurmSettings:
    """How often Slurm is queried, and how long it may take. One query is for all sessions."""

    # One squeue for all sessions; with 500 jobs it took 13 ms (Slurm 22.05).
    watch_waiting_s: float = setting(
        "Seconds between two queries while a session waits or starts.",
        default=2.0,
        lowest=0.5,
        highest=300,
    )
    watch_running_s: float = setting(
        "Seconds between two queries otherwise.", default=15.0, lowest=1, highest=300
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


@dataclass(frozen=True, kw_only=True)
class ClockSettings:
    """The time left, as sessions show it."""

    warnings_minutes: tuple[int, ...] = setting(
        "Minutes before the end at which every open tab warns. At the last one all open notebooks"
        " are saved.",
        default=(30, 15, 5),
        check=check_minutes,
        trait=None,
    )
    # 65535 is the most that sbatch --signal takes.
    slurm_warning_s: int = setting(
        "Seconds before the end at which Slurm sends the job its warning signal, at which all open"
        " notebooks are saved again; 0 for never. Slurm may send it up to a minute earlier.",
        default=120,
        lowest=0,
        highest=65535,
    )

    @property
    def warnings_s(self) -> tuple[int, ...]:
        """The warnings in seconds before the end, the earliest first."""
        return tuple(sorted((m * SECONDS_PER_MINUTE for m in self.warnings_minutes), reverse=True))


@dataclass(frozen=True, kw_only=True)
class ExtensionSettings:
    """How much longer a running session may continue. Needs the second rule of sudo."""

    hours: float = setting(
        "Hours that the Extend button adds; 0 offers no extension.",
        default=0.0,
        lowest=0,
        highest=8760,
        trait="extension_hours",
    )
    # At least a minute, the unit of Slurm's time limits.
    most_hours: float = setting(
        "Longest session, its extensions included, in hours. Limits of Slurm's partitions,"
        " accounts and qualities of service count too.",
        default=24.0,
        lowest=1 / 60,
        highest=8760,
        trait="max_extended_hours",
    )
    most_times: int = setting(
        "How often one session may be extended.",
        default=1,
        lowest=0,
        highest=1000,
        trait="max_extensions",
    )
    while_others_wait: bool = setting(
        "Whether a session may be extended while other jobs wait for its partition.",
        default=False,
        trait="extend_while_others_wait",
    )
    slurm_user: str = setting(
        "Slurm's own account, SlurmUser in slurm.conf, which changes the time limit.",
        default="slurm",
    )

    @property
    def step_s(self) -> int:
        """What one extension adds, in seconds."""
        return round(self.hours * SECONDS_PER_HOUR)

    @property
    def most_s(self) -> int:
        """Longest session with its extensions, in seconds."""
        return round(self.most_hours * SECONDS_PER_HOUR)


@dataclass(frozen=True, kw_only=True)
class TerminalSettings:
    """Terminals in JupyterLab and Notebook."""

    enabled: bool = setting(
        "Whether they are offered. Without them a cell can still run every program, and ssh,"
        " VS Code and desktops have terminals of their own.",
        default=True,
        trait=None,
    )


WITH_TRAITS: tuple[type, ...] = (
    SiteSettings,
    ResourceSettings,
    ChoiceSettings,
    ForecastSettings,
    RescueSettings,
    SlurmSettings,
    ClockSettings,
    ExtensionSettings,
)
