"""The packages of a release: of Python, a .deb and an rpm, each by its tool and the files beside.

.deb and rpm bring the checkout without its tests to /usr/share, and the installer as
`dsportal-install`. Environments are built by that, since they belong on the site's shared file
system.
"""

import shutil
import tempfile
from pathlib import Path
from typing import IO

from deploy.common.errors import DeployError
from deploy.common.template import fill
from deploy.environments.builder.package import LIBRARY_SOURCE, copy_sources
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.process import clean_environment, run
from deploy.environments.builder.uv import uv_program
from deploy.packaging.version import README, SETUP, Release, with_absolute_links, with_addresses

NAME = "data-scientist-portal"
ENVIRONMENT = "package"
TEMPLATES_DIR = Path(__file__).resolve().parent


def source_archive(release: Release) -> str:
    """Return the name of the archive of everything that git has."""
    return f"{NAME}-{release.version}-source.tar.gz"


def values(release: Release) -> dict[str, str]:
    """Return the values that control file, copyright and spec name."""
    return {
        "VERSION": release.version,
        "MAINTAINER": release.maintainer,
        "ADDRESS": release.address,
        # In English: Python takes the machine's language only if it is told to.
        "RPM_DAY": f"{release.day:%a %b %d %Y}",
    }


def builder_python(plan: Plan) -> Path:
    """Return the Python that has setuptools in the locked version."""
    python = plan.environment(ENVIRONMENT) / "bin/python"
    if not python.exists():
        raise DeployError(
            f"There is no {python}, which builds the packages.",
            "Run deploy/environments/build package.",
        )
    return python


def write_python_packages(plan: Plan, release: Release, folder: Path, log: IO[str]) -> None:
    """Write the source archives and the wheels of the plan's sources into a folder."""
    build = (uv_program(Plan()), "build", "--sdist", "--wheel", "--no-create-gitignore")
    with_setuptools = ("--no-build-isolation", "--python", builder_python(Plan()))
    with tempfile.TemporaryDirectory(prefix="dsportal-release-") as scratch:
        copy = copy_sources(plan, Path(scratch) / "source")
        for name, change in ((README, with_absolute_links), (SETUP, with_addresses)):
            path = copy / name
            path.write_text(change(path.read_text(), release))
        for sources in (copy, copy / LIBRARY_SOURCE):
            words = (*build, *with_setuptools, "--out-dir", folder, sources)
            run(words, log=log, env=_environment(release))


def write_deb(release: Release, folder: Path, log: IO[str]) -> None:
    """Write the .deb from the source archive in a folder, into the same folder."""
    with tempfile.TemporaryDirectory(prefix="dsportal-deb-") as scratch:
        sources = Path(scratch) / "sources"
        sources.mkdir()
        archive = folder / source_archive(release)
        words = ("--extract", "--strip-components=1", "--directory", sources, "--file", archive)
        run(["tar", *words], log=log)
        filled = [Path(scratch) / name for name in ("copyright", "control")]
        for path in filled:
            path.write_text(fill(TEMPLATES_DIR / "debian" / path.name, values(release)))
        run(
            [TEMPLATES_DIR / "debian/build", *filled, folder / f"{NAME}_{release.version}_all.deb"],
            cwd=sources,
            log=log,
            env=_environment(release),
            next_step="Make the release on Debian, which has dpkg-deb.",
        )


def write_rpm(release: Release, folder: Path, log: IO[str]) -> None:
    """Write the spec, and the rpm if this machine has rpmbuild, beside the source archive."""
    spec = folder / f"{NAME}.spec"
    spec.write_text(fill(TEMPLATES_DIR / "rpm" / spec.name, values(release)))
    if shutil.which("rpmbuild") is None:
        return
    with tempfile.TemporaryDirectory(prefix="dsportal-rpm-") as scratch:
        folders = {"_topdir": scratch, "_sourcedir": str(folder), "_rpmdir": scratch}
        options = [word for item in folders.items() for word in ("--define", " ".join(item))]
        run(["rpmbuild", "-bb", *options, spec], log=log, env=_environment(release))
        (made,) = Path(scratch).glob("noarch/*.rpm")
        shutil.move(made, folder / made.name)


def _environment(release: Release) -> dict[str, str]:
    # One time for all files: midnight in UTC of the day of the release, in seconds since 1970.
    epoch_s = (release.day.toordinal() - 719163) * 86400
    return clean_environment(SOURCE_DATE_EPOCH=str(epoch_s))
