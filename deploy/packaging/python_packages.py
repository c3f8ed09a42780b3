"""The Python packages of a release: source archives and wheels of the portal and of `dsportal`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import IO

from deploy.environments.builder.errors import BuildError
from deploy.environments.builder.package import LIBRARY_SOURCE, copy_sources
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.process import clean_environment, run
from deploy.packaging.version import README, SETUP, Release, with_absolute_links, with_addresses

ENVIRONMENT = "package"
# setuptools changes sys.argv.
_BUILD = """\
import sys, setuptools.build_meta as build
folder = sys.argv[1]
build.build_sdist(folder)
build.build_wheel(folder)
"""


def builder_python(plan: Plan) -> Path:
    """Return the Python that has setuptools in the locked version."""
    python = plan.environment(ENVIRONMENT) / "bin/python"
    if not python.exists():
        raise BuildError(
            f"There is no {python}, which builds the packages.",
            "Run deploy/environments/build package.",
        )
    return python


def write_python_packages(plan: Plan, release: Release, folder: Path, log: IO[str]) -> None:
    """Write the source archives and the wheels of the plan's sources into a folder."""
    python = builder_python(Plan())
    with tempfile.TemporaryDirectory(prefix="dsportal-release-") as scratch:
        copy = copy_sources(plan, Path(scratch) / "source")
        for name, change in ((README, with_absolute_links), (SETUP, with_addresses)):
            path = copy / name
            path.write_text(change(path.read_text(), release))
        for sources in (copy, copy / LIBRARY_SOURCE):
            run([python, "-c", _BUILD, folder], cwd=sources, log=log, env=environment(release))


def environment(release: Release) -> dict[str, str]:
    """Return the environment of programs that write archives, with one time for all files."""
    # Midnight in UTC of the day of the release, in seconds since 1970.
    epoch_s = (release.day.toordinal() - 719163) * 86400
    return clean_environment(SOURCE_DATE_EPOCH=str(epoch_s))
