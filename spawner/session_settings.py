"""What the hub tells the programs of a session: one JSON variable, checked where it is read.

Hub and session may be of different releases: a queued job starts with the code of the release in
use by then. So an unknown key is ignored, and what is missing is off.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, get_args, get_type_hints

from spawner.errors import SettingsError

VARIABLE = "PORTAL_SETTINGS"
_NEXT_STEP = (
    "The hub sets it: start the session again, and if that does not help, tell the administrators."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A web tool of the site.

    Attributes:
        name: Its part of the address.
        title: What users read; empty for the name.
        command: The program and its arguments.
    """

    name: str
    title: str
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """The site's settings for one session. Each value below stands for "not told", which is off.

    Attributes:
        site_name: Name of the portal that users read.
        extensions_on: Server extensions that run, whatever a file of the user's says.
        extensions_off: Server extensions that do not, likewise.
        port_min: Lowest port for the notebook server; 1024 is the lowest that needs no rights.
        port_max: Highest such port.
        any_port: Whether another port will do if none of these is free.
        log_mib: Largest log in MiB; 0 for no limit.
        cores_per_gpu: CPU cores that come with each GPU; 0 if not known.
        memory_mib_per_gpu: Memory in MiB that comes with each GPU; 0 if not known.
        warnings_s: Seconds before the end at which pages warn.
        meter_interval_s: Seconds between two measurements; 0 for none.
        idle_after_s: Seconds without use until the warning; 0 for never.
        idle_warning_s: Seconds from the warning until tabs save.
        idle_gpu_percent: Use of a GPU below which it is idle.
        idle_cpu_percent: Use of the CPU, of one core, below which programs are idle.
        tensorboard_python: Python that has TensorBoard; empty for the notebook server's own.
        xprof_python: Python that has TensorBoard with its profiler, taken where it is there.
        tensorboard_limit: Most TensorBoards at once; 0 for no limit.
        tensorboard_idle_s: Seconds without a request until one is stopped; 0 for never.
        ssh_limit: Most ssh connections at once; 0 for none.
        ssh_forwards_ports: Whether `ssh -L` may lead to TCP ports.
        runs_most_mib: Largest size of the folders of runs together in MiB; 0 for no limit.
        runs_newest_kept: Newest runs that this limit leaves alone.
        is_shareable: Whether others than the owner may be let in.
        saves_output: Whether output is saved into notebooks whose page is gone.
        resumable_uploads: Whether large uploads continue after a lost connection.
        archives: Whether folders can be downloaded.
        previews: Whether tables are shown.
        forbids_downloads: Whether the session's own ways to download files are shut.
        forbids_terminals: Whether Jupyter offers no terminals.
        s3_endpoint: Address of the site's S3 store; empty for none.
        s3_region: Its region, part of each signature.
        s3_buckets: Buckets that are shown; empty for all that the user's keys list.
        s3_ca_bundle: Authorities that may have signed its certificate; empty for the usual ones.
        environments_file: The site's registry of environments; empty for the default path.
        image_binds: Folders that every image sees.
        site_templates: Folders and git repositories of further templates.
        mlflow_python: Python that has MLflow; empty if sessions do not offer it.
        mlflow_limit: Most pages of MLflow at once; 0 for no limit.
        mlflow_idle_s: Seconds without a request until one is stopped; 0 for never.
        git: Whether git has a panel and is set up for notebooks and passwords.
        course_hosts: Hosts from which links may fetch courses, with a port if it is not 443.
        vscode_program: Program that starts code-server; empty for none.
        vscode_gallery: Address of the gallery of its extensions; empty for none.
        tools: Web tools of the site.
    """

    site_name: str = ""
    extensions_on: tuple[str, ...] = ()
    extensions_off: tuple[str, ...] = ()
    port_min: int = 1024
    port_max: int = 65535
    any_port: bool = False
    log_mib: int = 0
    cores_per_gpu: int = 0
    memory_mib_per_gpu: int = 0
    warnings_s: tuple[int, ...] = ()
    meter_interval_s: float = 0.0
    idle_after_s: float = 0.0
    idle_warning_s: float = 0.0
    idle_gpu_percent: float = 0.0
    idle_cpu_percent: float = 0.0
    tensorboard_python: str = ""
    xprof_python: str = ""
    tensorboard_limit: int = 0
    tensorboard_idle_s: float = 0.0
    ssh_limit: int = 0
    ssh_forwards_ports: bool = False
    runs_most_mib: int = 0
    runs_newest_kept: int = 0
    is_shareable: bool = False
    saves_output: bool = False
    resumable_uploads: bool = False
    archives: bool = False
    previews: bool = False
    forbids_downloads: bool = False
    forbids_terminals: bool = False
    s3_endpoint: str = ""
    s3_region: str = ""
    s3_buckets: tuple[str, ...] = ()
    s3_ca_bundle: str = ""
    environments_file: str = ""
    image_binds: tuple[str, ...] = ()
    site_templates: tuple[str, ...] = ()
    mlflow_python: str = ""
    mlflow_limit: int = 0
    mlflow_idle_s: float = 0.0
    git: bool = False
    course_hosts: tuple[str, ...] = ()
    vscode_program: str = ""
    vscode_gallery: str = ""
    tools: tuple[Tool, ...] = ()

    def decide_extensions(self, found: Mapping[str, bool]) -> dict[str, bool]:
        """Return which server extensions run, of those that were found switched on or off."""
        off, on = dict.fromkeys(self.extensions_off, False), dict.fromkeys(self.extensions_on, True)
        return {**found, **off, **on}

    def to_json(self) -> str:
        """Return the value of the variable."""
        return json.dumps(asdict(self))


def read_settings(environ: Mapping[str, str]) -> SessionSettings:
    """Return the settings in a session's environment; without the variable all is off.

    Raises:
        SettingsError: If the variable is not JSON, or a known key has a value of another type.
    """
    text = environ.get(VARIABLE)
    if not text:
        return SessionSettings()
    try:
        settings: SessionSettings = _read(SessionSettings, json.loads(text))
    except ValueError as error:
        raise SettingsError(f"{VARIABLE} cannot be read: {error}. {_NEXT_STEP}") from error
    return settings


def _read(cls: Any, table: Any) -> Any:
    if not isinstance(table, dict):
        raise ValueError(f"{table!r} is no object")
    kinds = get_type_hints(cls)
    known = {key.name for key in fields(cls)}
    try:
        return cls(
            **{name: _typed(name, table[name], kinds[name]) for name in known & table.keys()}
        )
    except TypeError as error:
        raise ValueError(f"{table!r} lacks a key") from error


def _typed(name: str, value: Any, kind: Any) -> Any:
    if items := get_args(kind):
        if isinstance(value, list):
            return tuple(_typed(name, item, items[0]) for item in value)
    elif kind is Tool:
        return _read(Tool, value)
    elif kind is float:
        # type(), because isinstance would take true for a number.
        if type(value) in {int, float}:
            return float(value)
    elif type(value) is kind:
        return value
    raise ValueError(f"{name!r} is {value!r}")
