"""What the portal's own programs in a session read: whole tables of portal.toml."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from portal.settings.environments import EnvironmentSettings
from portal.settings.files import FileSettings
from portal.settings.git import GitSettings
from portal.settings.idle import IdleSettings
from portal.settings.kernel_jobs import KernelJobSettings
from portal.settings.meter import MeterSettings
from portal.settings.mlflow import MlflowSettings
from portal.settings.notebooks import NotebookSettings
from portal.settings.s3 import S3Settings
from portal.settings.sharing import SharingSettings
from portal.settings.ssh import SshSettings
from portal.settings.storage import StorageSettings
from portal.settings.tensorboard import TensorBoardSettings
from portal.settings.tools import ToolSettings
from portal.settings.vscode import VSCodeSettings
from spawner.session_settings import VARIABLE, plain_table, told_table, told_tables
from spawner.settings.clock import ClockSettings
from spawner.settings.resources import ResourceSettings
from spawner.settings.schema import kinds_of
from spawner.settings.site import SiteSettings
from spawner.settings.terminals import TerminalSettings


@dataclass(frozen=True, kw_only=True)
class SessionTables:
    """The tables that a session is told, by their names in portal.toml."""

    site: SiteSettings
    resources: ResourceSettings
    clock: ClockSettings
    meter: MeterSettings
    idle: IdleSettings
    notebooks: NotebookSettings
    kernel_jobs: KernelJobSettings
    sharing: SharingSettings
    files: FileSettings
    terminals: TerminalSettings
    s3: S3Settings
    storage: StorageSettings
    environments: EnvironmentSettings
    tensorboard: TensorBoardSettings
    mlflow: MlflowSettings
    git: GitSettings
    vscode: VSCodeSettings
    ssh: SshSettings
    tools: dict[str, ToolSettings]

    @property
    def mlflow_python(self) -> str:
        """Python that has MLflow; empty if sessions do not offer it."""
        return self.environments.mlflow_python if self.mlflow.enabled else ""


def session_json(tables: SessionTables) -> dict[str, Any]:
    """Return the tables as a session is told them."""
    told: dict[str, Any] = {
        key.name: plain_table(getattr(tables, key.name))
        for key in fields(SessionTables)
        if key.name != "tools"
    }
    return told | {"tools": {name: plain_table(one) for name, one in tables.tools.items()}}


def read_settings(environ: Mapping[str, str]) -> SessionTables:
    """Return the tables in a session's environment; what is not told has its default."""
    return _read(environ.get(VARIABLE, ""))


@functools.lru_cache(maxsize=4)
def _read(text: str) -> SessionTables:
    told = told_tables({VARIABLE: text})
    tools = told.get("tools", {})
    return SessionTables(
        tools={name: told_table(one, ToolSettings, f"tools.{name}") for name, one in tools.items()},
        **{
            name: told_table(told.get(name, {}), cls, name)
            for name, cls in kinds_of(SessionTables).items()
            if name != "tools"
        },
    )
