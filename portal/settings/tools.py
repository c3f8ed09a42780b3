"""The tables of portal.toml about a session's tools: environments, TensorBoard, ssh, web tools."""

# ruff: noqa: RUF009 - setting() returns a dataclass field, not a shared value

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dsportal.amounts import SECONDS_PER_MINUTE
from portal.settings.validators import HOST, check_tool_command, each_like, url
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


@dataclass(frozen=True, kw_only=True)
class TensorBoardSettings:
    """TensorBoards that users open in their sessions."""

    limit: int = setting(
        "Most TensorBoards at once in a session. Each takes about 100 MB of its memory.",
        default=8,
        lowest=1,
        highest=64,
    )
    idle_minutes: float = setting(
        "Idle minutes after which a TensorBoard is stopped. Opening its page restarts it.",
        default=60.0,
        lowest=1,
        highest=10080,
    )

    @property
    def idle_s(self) -> float:
        """Idle seconds after which one is stopped."""
        return self.idle_minutes * SECONDS_PER_MINUTE


@dataclass(frozen=True, kw_only=True)
class MlflowSettings:
    """MLflow in sessions: kernels log to the folder `~/mlruns`, and pages show folders of runs."""

    enabled: bool = setting(
        "Whether kernels log there, and sessions offer the pages on nodes that have MLflow's"
        " environment, which 'deploy/environments/build mlflow' makes.",
        default=True,
    )
    limit: int = setting(
        "Most pages of MLflow at once in a session. Each takes about 0.5 GB of its memory.",
        default=4,
        lowest=1,
        highest=64,
    )
    idle_minutes: float = setting(
        "Idle minutes after which a page is stopped. Opening it again restarts it.",
        default=60.0,
        lowest=1,
        highest=10080,
    )

    @property
    def idle_s(self) -> float:
        """Idle seconds after which one is stopped."""
        return self.idle_minutes * SECONDS_PER_MINUTE


@dataclass(frozen=True, kw_only=True)
class GitSettings:
    """Git in sessions."""

    enabled: bool = setting(
        "Whether JupyterLab has a Git panel, git compares notebooks by cells, and passwords for git"
        " servers stay in the session's memory until its end.",
        default=True,
    )
    course_hosts: tuple[str, ...] = setting(
        "Hosts from which links fetch courses by https, with the port if it is not 443. The user is"
        " shown each course and asked first. Empty for no such links.",
        default=("github.com", "gitlab.com"),
        check=each_like(
            rf"(?![^:]*[A-Z]){HOST}(?::\d+)?",
            'must look like "git.example.org" or "git.example.org:8443".',
        ),
    )


@dataclass(frozen=True, kw_only=True)
class VSCodeSettings:
    """VS Code in a tab of a session (code-server). Nodes without the program do not offer it."""

    enabled: bool = setting("Whether sessions offer it.", default=True)
    program: Path = setting(
        "The program on the compute nodes that starts code-server.",
        default=Path("/opt/data-scientist-portal/code-server/bin/code-server"),
    )
    gallery: str = setting(
        "Gallery of extensions, a server of Open VSX. Users' browsers and the nodes have to reach"
        " it. Empty: none; users can still install extensions from files.",
        default="https://open-vsx.org",
        check=url(
            "https",
            "http",
            sentence='it must look like "https://open-vsx.org".',
            may_have_path=True,
        ),
    )


@dataclass(frozen=True, kw_only=True)
class SshSettings:
    """Connections over ssh from users' own machines, through the portal's login.

    Offered on nodes that have sshd, Debian's openssh-server. No port is opened, and sshd need not
    run there: a session starts one of its own for each connection.
    """

    limit: int = setting(
        "Most connections at once in a session; an editor takes one or a few. 0 switches ssh off.",
        default=16,
        lowest=0,
        highest=200,
    )
    forwards_ports: bool = setting(
        "Whether 'ssh -L' may lead to TCP ports, as a shell of the session can. Unix sockets are"
        " always forwarded; PyCharm needs ports, VS Code can do without.",
        default=True,
    )


@dataclass(frozen=True, kw_only=True)
class ToolSettings:
    """A web tool of the compute nodes, opened in a tab behind the login."""

    command: tuple[str, ...] = setting(
        "The program and its arguments, without a shell. {unix_socket} stands for the socket that"
        " it must listen on; if it can only listen on a port of 127.0.0.1, {port} stands for"
        " one in a network of its own, which needs user namespaces on the nodes.",
        example=("/opt/netron/bin/netron", "--host", "127.0.0.1", "--port", "{port}"),
        check=check_tool_command,
    )
    title: str = setting("Name shown to users; by default that of the table.", default="")
