"""The tables of portal.toml that sessions read: use, runs, notebooks, guests, files, storage."""

# ruff: noqa: RUF009 - setting() returns a dataclass field, not a shared value

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dsportal.amounts import MIB_PER_GIB, SECONDS_PER_MINUTE
from portal.settings.validators import (
    check_folder,
    check_template_sources,
    check_user_folder,
)
from spawner.settings.schema import setting


@dataclass(frozen=True, kw_only=True)
class MeterSettings:
    """The use of GPUs, cores and memory, as sessions show it."""

    interval_s: float = setting(
        "Seconds between two measurements in a session; 0 turns them off, and then no session"
        " counts as idle either.",
        default=5.0,
        lowest=0,
        highest=300,
    )


@dataclass(frozen=True, kw_only=True)
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

    @property
    def after_s(self) -> float:
        """Seconds without use until the warning; 0 for never."""
        return self.after_minutes * SECONDS_PER_MINUTE

    @property
    def warning_s(self) -> float:
        """Seconds from the warning to the stop."""
        return self.warning_minutes * SECONDS_PER_MINUTE


@dataclass(frozen=True, kw_only=True)
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

    @property
    def most_mib(self) -> int:
        """Largest size in MiB; 0 for no limit."""
        return round(self.most_gib * MIB_PER_GIB)


@dataclass(frozen=True, kw_only=True)
class NotebookSettings:
    """Notebooks whose page was closed while their cells run."""

    save_output: bool = setting(
        "Whether sessions save what cells show into notebooks that no page has shown for ten"
        " minutes, and into all of them when they end.",
        default=True,
    )


@dataclass(frozen=True, kw_only=True)
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


@dataclass(frozen=True, kw_only=True)
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

    @property
    def offers_archives(self) -> bool:
        """Whether folders can be downloaded."""
        return self.archives and self.downloads


@dataclass(frozen=True, kw_only=True)
class StorageSettings:
    """Folders that users find in their file browser."""

    isilon: str = setting(
        "Where the compute nodes mount the shared storage. Empty: the site has none by this name;"
        " see [storage.NAME].",
        default="/srv/isilon",
        check=check_folder,
    )
    datasets: str = setting(
        "Folder of the data sets that templates read, on the compute nodes. Empty: datasets in the"
        " first shared storage.",
        default="",
        check=check_folder,
    )
    cache: str = setting(
        "Folder of each user's own for models that programs download (HF_HOME, TORCH_HOME,"
        " KERAS_HOME), with {user} for the account. Empty: their usual folders in the home.",
        default="",
        example="/scratch/{user}/models",
        check=check_user_folder,
    )
    models: str = setting(
        "Folder with models that the site has downloaded, which users' programs then find. Only its"
        " owner and root may be able to change it. Empty: none.",
        default="",
        example="/srv/isilon/models",
        check=check_folder,
    )
    templates: Path = setting(
        "Folder of the template notebooks on the compute nodes; each user gets a copy.",
        default=Path("/opt/data-scientist-portal/templates"),
    )
    site_templates: tuple[str, ...] = setting(
        "Further templates, each copied to a folder of the same name: folders on the compute nodes,"
        " or git repositories (https:// or ssh://) that the nodes reach.",
        default=(),
        example=("/srv/isilon/our_templates",),
        check=check_template_sources,
    )
    warning_percent: float = setting(
        "Use of a folder, in percent, from which the home page warns that it is almost full.",
        default=90.0,
        lowest=1,
        highest=100,
    )
