"""Where a build takes its sources from and where its results go."""

import enum
import functools
from dataclasses import dataclass
from pathlib import Path

from deploy.environments.builder.process import read_output

SOURCE_DIR = Path(__file__).resolve().parents[3]
# Not the Python that runs the build: that may lie in a home that users cannot read.
PYTHON = Path("/usr/bin/python3")


class Flavour(enum.Enum):
    """TensorFlow and PyTorch with the CUDA libraries for NVIDIA GPUs, or without."""

    GPU = "gpu"
    CPU = "cpu"


# Every fingerprint asks for it, and each answer takes a process.
@functools.cache
def read_version(python: Path) -> str:
    """Return an interpreter's version, such as "Python 3.11.2"; empty if there is none."""
    return read_output([python, "-V"]) or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Folders and choices of one build.

    Args:
        prefix: Folder that gets environments, programs and templates.
        datasets_dir: Folder that gets the data of the template notebooks.
        log_dir: Folder that gets one build-NAME.log for each target.
        settings_dir: Folder of portal.toml and of the site's lists of packages.
        cuda_home: Folder of the CUDA toolkit that Horovod is compiled with in the flavour gpu;
            None for the compiler from the index.
    """

    prefix: Path = Path("/opt/data-scientist-portal")
    datasets_dir: Path = Path("/srv/isilon/datasets")
    log_dir: Path = Path("/var/log/data-scientist-portal")
    settings_dir: Path = Path("/etc/data-scientist-portal")
    source_dir: Path = SOURCE_DIR
    python: Path = PYTHON
    flavour: Flavour = Flavour.CPU
    with_mpi: bool = False
    cuda_home: Path | None = None

    @property
    def recipes_dir(self) -> Path:
        """Folder of the requirements, pyproject.toml, and of uv.lock."""
        return self.source_dir / "deploy" / "environments"

    @property
    def python_release(self) -> str:
        """Such as "3.11"; packages for one release do not fit another."""
        return ".".join(read_version(self.python).removeprefix("Python ").split(".")[:2])

    @property
    def interpreter(self) -> str:
        """Version, and the path if it was chosen; any change rebuilds the environments."""
        version = read_version(self.python)
        return version if self.python == PYTHON else f"{version} {self.python}"

    @property
    def wheelhouse_dir(self) -> Path:
        """Folder of the wheels compiled on this machine."""
        return self.prefix / "wheelhouse"

    @property
    def node_dir(self) -> Path:
        """Folder whose bin/ holds node and npm."""
        return self.prefix / "node"

    @property
    def proxy_dir(self) -> Path:
        """Folder of configurable-http-proxy."""
        return self.prefix / "proxy"

    @property
    def stamps_dir(self) -> Path:
        """Folder with the fingerprint of what each target was built from."""
        return self.prefix / "stamps"

    def environment(self, name: str) -> Path:
        """Return the folder of one virtual environment, which need not exist."""
        return self.prefix / "environments" / name

    def project(self, name: str) -> Path:
        """Return the folder of the lock of one environment: one of its own, or that of all."""
        own = self.recipes_dir / name
        return own if (own / "uv.lock").exists() else self.recipes_dir

    def group(self, name: str) -> str:
        """Return the dependency group of one environment; TensorFlow has one for each flavour."""
        return f"{name}-{self.flavour.value}" if name == "tensorflow" else name

    def log_path(self, name: str) -> Path:
        """Return the log of one target, which need not exist."""
        return self.log_dir / f"build-{name}.log"
