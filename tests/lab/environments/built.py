"""Environments built where no setting of pip, uv or this project says where to look."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy.environments.builder.package_sources import SETTING
from deploy.environments.builder.plan import Flavour, Plan
from deploy.environments.builder.process import clean_environment

BUILD_TIMEOUT_S = 3000


@contextmanager
def built(flavour: Flavour, *targets: str) -> Iterator[Plan]:
    """Build targets into a folder of their own, from the ordinary index alone."""
    folder = Path(tempfile.mkdtemp(prefix="environments-", dir="/var/tmp"))
    plan = Plan(prefix=folder / "prefix", log_dir=folder / "log")
    # An empty cache: what another index gave is not at hand.
    environment = clean_environment(UV_CACHE_DIR=str(folder / "cache"), **{SETTING: ""})
    folders = ("--prefix", plan.prefix, "--logs", plan.log_dir, "--datasets", folder / "datasets")
    try:
        done = subprocess.run(
            [plan.recipes_dir / "build", "--flavour", flavour.value, *folders, *targets],
            env=environment,
            timeout=BUILD_TIMEOUT_S,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        print(done.stdout)
        yield plan
    finally:
        shutil.rmtree(folder)
