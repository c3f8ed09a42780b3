"""Where the portal's files go on an existing cluster."""

from dataclasses import dataclass
from pathlib import Path

from deploy.common.accounts import ACCOUNT
from deploy.environments.builder.plan import PYTHON, Flavour

# Tells the installer which files it may replace.
MARK = "Written by deploy/site/install of the Data Scientist Portal, which replaces it."


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Folders and choices of one installation.

    Args:
        version: Name of the folders of this version.
        shared: Folder that the nodes see under the same path; gets the sessions' environments.
        users_group: UNIX group of the portal's users, whom sudo lets the hub act for.
        slurm_user: Slurm's own account.
        with_horovod: Compile Horovod, which takes minutes and a compiler.
        with_mpi: Compile it with MPI as well as Gloo.
        with_code_server: Install VS Code for sessions.
        flavour: TensorFlow and PyTorch with the CUDA libraries, or without.
        cuda_home: CUDA toolkit that Horovod is compiled with; None for the one from the index.
        with_frameworks: Install TensorFlow and PyTorch; a site can have its own instead.
        python: The interpreter of the environments; the nodes need it under the same path.
        slurm_conf: The cluster's slurm.conf, if Slurm's programs do not find it by themselves.
        root: Replaces "/"; only in tests.
    """

    version: str
    shared: Path
    users_group: str
    slurm_user: str = "slurm"
    with_horovod: bool = False
    with_mpi: bool = False
    with_code_server: bool = False
    flavour: Flavour = Flavour.GPU
    cuda_home: Path | None = None
    with_frameworks: bool = True
    python: Path = PYTHON
    slurm_conf: Path | None = None
    root: Path = Path("/")
    account: str = ACCOUNT

    def path(self, absolute: str) -> Path:
        """Return an absolute path, such as "/etc/sudoers.d", below the root."""
        # pathlib drops everything before a part that begins with a slash.
        return self.root / absolute.lstrip("/")

    @property
    def prefix(self) -> Path:
        """Folder of all versions on this host."""
        return self.path("/opt/data-scientist-portal")

    @property
    def settings_dir(self) -> Path:
        """Folder of the site's settings."""
        return self.path("/etc/data-scientist-portal")

    @property
    def state_dir(self) -> Path:
        """Folder of the hub's database."""
        return self.path("/var/lib/data-scientist-portal/hub")

    @property
    def log_dir(self) -> Path:
        """Folder of the logs."""
        return self.path("/var/log/data-scientist-portal")

    @property
    def slurm_variables(self) -> Path:
        """File with the variables that Slurm's programs need, for systemd and sudo."""
        return self.settings_dir / "slurm.env"

    @property
    def units_dir(self) -> Path:
        """Folder of the units that an administrator adds to systemd."""
        return self.path("/etc/systemd/system")
