"""The table [environments] of portal.toml."""

# ruff: noqa: RUF009 - setting() returns a dataclass field, not a shared value

from dataclasses import dataclass
from pathlib import Path

from portal.settings.validators import each_like
from spawner.installed_paths import SERVER_ENVIRONMENT, SERVER_PROGRAM
from spawner.settings.schema import setting

ENVIRONMENTS = Path(SERVER_ENVIRONMENT).parent


@dataclass(frozen=True, kw_only=True)
class EnvironmentSettings:
    """Python environments on the compute nodes."""

    server: Path = setting(
        "Environment of the notebook server.",
        default=Path(SERVER_ENVIRONMENT),
    )
    tensorboard: Path = setting(
        "Environment of TensorBoard.",
        default=ENVIRONMENTS / "tensorboard",
    )
    xprof: Path = setting(
        "Environment of TensorBoard with its profiler, which sessions take for TensorBoard on"
        " nodes that have it. 'deploy/environments/build xprof' makes it.",
        default=ENVIRONMENTS / "xprof",
    )
    mlflow: Path = setting(
        "Environment of MLflow, which sessions offer on nodes that have it.",
        default=ENVIRONMENTS / "mlflow",
    )
    registry: Path = setting(
        "File on the compute nodes that names further environments, each of which becomes a kernel."
        " 'dsportal environments' reads and writes it.",
        default=Path("/etc/data-scientist-portal/environments.toml"),
    )
    image_binds: tuple[str, ...] = setting(
        "Folders of the compute nodes that every Apptainer or Singularity image sees.",
        default=(),
        example=("/srv/isilon",),
        # Apptainer's --bind separates source, destination and options with ":", binds with ",".
        check=each_like(r"/[^:,\s]*", "is not an absolute path without ':', ',' and spaces."),
    )

    @property
    def server_program(self) -> str:
        """Path of the program of the notebook server, which a job starts."""
        return str(self.server / SERVER_PROGRAM)

    @property
    def tensorboard_python(self) -> str:
        """Path of the Python that has TensorBoard."""
        return str(self.tensorboard / "bin/python")

    @property
    def xprof_python(self) -> str:
        """Path of the Python that has TensorBoard with its profiler."""
        return str(self.xprof / "bin/python")

    @property
    def mlflow_python(self) -> str:
        """Path of the Python that has MLflow."""
        return str(self.mlflow / "bin/python")
