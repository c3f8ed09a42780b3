"""What administrators build only on request: Horovod with MPI as well as Gloo, MXNet, and MLflow.

They stand in a folder of their own, so that the environments of the portal stay as they are. It is
kept, so that Horovod is compiled once.
"""

import subprocess

import pytest

from deploy.environments.builder.plan import Flavour, Plan
from deploy.environments.builder.process import clean_environment
from tests.needs import ensure_packages
from tests.server.conftest import tensorboard_python  # noqa: F401
from tests.support.debian_root import CACHE_DIR
from tests.templates.conftest import pytest_sessionfinish, session  # noqa: F401
from tests.templates.test_in_sessions import portal_session  # noqa: F401

FOLDER = CACHE_DIR / "optional"
TARGETS = ("horovod", "mxnet", "mlflow", "xprof", "package")
BUILD_TIMEOUT_S = 3000


@pytest.fixture(scope="session")
def plan() -> Plan:
    """The environments tensorflow, with Horovod over MPI, mxnet, mlflow and xprof."""
    # Slurm's plugin for MPI loads libpmix.so by that name, and libpmix2 has only libpmix.so.2.
    ensure_packages("libpmix-dev")
    plan = Plan(prefix=FOLDER / "prefix", log_dir=FOLDER / "log", datasets_dir=FOLDER / "datasets")
    folders = ("--prefix", plan.prefix, "--logs", plan.log_dir, "--datasets", plan.datasets_dir)
    options = ("--flavour", Flavour.CPU.value, "--with-mpi")
    done = subprocess.run(
        [plan.recipes_dir / "build", *options, *folders, *TARGETS],
        env=clean_environment(),
        timeout=BUILD_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0
    return plan
