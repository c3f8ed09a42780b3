"""The tables of portal.toml about sessions: time, use, runs, notebooks, guests, files."""

from __future__ import annotations

from dataclasses import dataclass

from dsportal.amounts import SECONDS_PER_HOUR, SECONDS_PER_MINUTE
from portal.hub.settings.schema import setting
from spawner.defaults import DEFAULTS

MOST_MINUTES = 24 * 60


def check_minutes(minutes: tuple[int, ...]) -> None:
    """Refuse minutes of warnings that repeat, or are outside 1 minute to 1 day.

    Raises:
        ValueError: With a sentence for the administrator.
    """
    if len(set(minutes)) != len(minutes) or not all(0 < m <= MOST_MINUTES for m in minutes):
        raise ValueError(f"give different whole numbers from 1 to {MOST_MINUTES}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSettings:
    """The time left, as sessions show it."""

    warnings_minutes: tuple[int, ...] = setting(
        "Minutes before the end at which every open tab warns. At the last one all open notebooks"
        " are saved.",
        default=(30, 15, 5),
        check=check_minutes,
    )
    # 65535 is the most that sbatch --signal takes.
    slurm_warning_s: int = setting(
        "Seconds before the end at which Slurm sends the job its warning signal, at which all open"
        " notebooks are saved again; 0 for never. Slurm may send it up to a minute earlier.",
        default=DEFAULTS.warning_s,
        lowest=0,
        highest=65535,
    )

    @property
    def warnings_s(self) -> tuple[int, ...]:
        """The warnings in seconds before the end, the earliest first."""
        return tuple(sorted((m * SECONDS_PER_MINUTE for m in self.warnings_minutes), reverse=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionSettings:
    """How much longer a running session may continue. Needs the second rule of sudo."""

    hours: float = setting(
        "Hours that the Extend button adds; 0 offers no extension.",
        default=DEFAULTS.extension_s / SECONDS_PER_HOUR,
        lowest=0,
        highest=8760,
    )
    # At least a minute, the unit of Slurm's time limits.
    most_hours: float = setting(
        "Longest session, its extensions included, in hours. Limits of Slurm's partitions,"
        " accounts and qualities of service count too.",
        default=DEFAULTS.max_extended_s / SECONDS_PER_HOUR,
        lowest=1 / 60,
        highest=8760,
    )
    most_times: int = setting(
        "How often one session may be extended.",
        default=DEFAULTS.max_extensions,
        lowest=0,
        highest=1000,
    )
    while_others_wait: bool = setting(
        "Whether a session may be extended while other jobs wait for its partition.",
        default=DEFAULTS.extend_while_others_wait,
    )
    slurm_user: str = setting(
        "Slurm's own account, SlurmUser in slurm.conf, which changes the time limit.",
        default=DEFAULTS.slurm_user,
    )

    @property
    def step_s(self) -> int:
        """What one extension adds, in seconds."""
        return round(self.hours * SECONDS_PER_HOUR)

    @property
    def most_s(self) -> int:
        """Longest session with its extensions, in seconds."""
        return round(self.most_hours * SECONDS_PER_HOUR)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterSettings:
    """The use of GPUs, cores and memory, as sessions show it."""

    interval_s: float = setting(
        "Seconds between two measurements in a session; 0 turns them off, and then no session"
        " counts as idle either.",
        default=5.0,
        lowest=0,
        highest=300,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleSettings:
    """Sessions whose GPUs do nothing. A kernel that computes is never ended."""

    after_minutes: float = setting(
        "Minutes without use after which the page warns that the session will be stopped; 0 for"
        " never.",
        default=0.0,
        lowest=0,
        highest=100_000,
    )
    warning_minutes: float = setting(
        "Minutes between the warning and the stop; any use in this time keeps the session.",
        default=15.0,
        lowest=0.1,
        highest=1440,
    )
    gpu_percent: float = setting(
        "Use of a GPU, in percent, below which it counts as idle.",
        default=5.0,
        lowest=0,
        highest=100,
    )
    cpu_percent: float = setting(
        "Use of the CPU by programs that kernels and terminals started, in percent of one core,"
        " below which they count as idle.",
        default=5.0,
        lowest=0,
        highest=100,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CullerSettings:
    """Sessions that nobody uses, stopped from outside by a separate service.

    It relies on the activity of kernels and users that notebook servers report to the hub.
    """

    idle_hours: float = setting(
        "Hours without activity after which a session is stopped; 0 for never. A kernel that"
        " computes counts as activity.",
        default=0.0,
        lowest=0,
        highest=8760,
    )
    every_minutes: float = setting(
        "Minutes between two checks of all sessions.", default=10.0, lowest=1, highest=1440
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """The folders of runs in users' homes, `~/portal-runs`.

    A session removes the oldest ones when it starts, and every hour. It keeps runs that have not
    ended, and those that their users have named.
    """

    most_gib: float = setting(
        "Largest size of one user's folders together, in GiB; 0 removes none.",
        default=0.0,
        lowest=0,
        highest=1_000_000,
    )
    newest_kept: int = setting(
        "Newest runs that are kept whatever their size.",
        default=20,
        lowest=1,
        highest=100_000,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookSettings:
    """Notebooks whose page was closed while their cells run."""

    save_output: bool = setting(
        "Whether sessions save what cells show into notebooks that no page has shown for ten"
        " minutes, and into all of them when they end.",
        default=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingSettings:
    """Sessions that their users share with colleagues."""

    enabled: bool = setting(
        "Whether users may let colleagues or groups into their running sessions, to read notebooks,"
        " or to work: these run code as the session's owner and can read and change all of the"
        " owner's files. What the owner's"
        " notebooks show runs in the colleagues' browsers: set subdomain_host of [hub], too, unless"
        " all users trust each other.",
        default=False,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSettings:
    """Files between the user's computer and a session, in JupyterLab's file browser."""

    resumable_uploads: bool = setting(
        "Whether large uploads go to a file NAME.part in the same folder and continue after a lost"
        " connection; otherwise JupyterLab's own upload is used.",
        default=True,
    )
    archives: bool = setting(
        "Whether a folder can be downloaded as a tar archive, made while it is sent.",
        default=True,
    )
    downloads: bool = setting(
        "Whether JupyterLab, Notebook and VS Code offer files for download. Shut, it makes copying"
        " data away laborious, not impossible: who may open a file may copy what it shows, and"
        " programs of a session may send it anywhere that the node reaches.",
        default=True,
    )
    previews: bool = setting(
        "Whether the file browser shows what is in Parquet files. Nothing in them is executed.",
        default=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalSettings:
    """Terminals in JupyterLab and Notebook."""

    enabled: bool = setting(
        "Whether they are offered. Without them a cell can still run every program, and ssh,"
        " VS Code and desktops have terminals of their own.",
        default=True,
    )
