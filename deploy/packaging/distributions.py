"""Packages of the distributions: a .deb, and an rpm by the spec beside it.

Both bring the checkout without its tests to /usr/share, and the installer as `dsportal-install`.
Environments are built by that, since they belong on the site's shared file system.
"""

from __future__ import annotations

import gzip
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from deploy.environments.builder.process import run
from deploy.packaging.python_packages import environment
from deploy.packaging.version import CHANGELOG, Release

NAME = "data-scientist-portal"
INSTALLER = "dsportal-install"
# In the source archive, and of no use to a site. Hidden files are left out, too.
LEFT_OUT = ("tests", "Containerfile")
TEMPLATES_DIR = Path(__file__).resolve().parent
# Whatever the language of the machine.
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def source_archive(release: Release) -> str:
    """Return the name of the archive of everything that git has."""
    return f"{NAME}-{release.version}-source.tar.gz"


def filled(template: str, values: Mapping[str, str]) -> str:
    """Return a template with values in place of their names between "@"."""
    for name, value in values.items():
        template = template.replace(f"@{name}@", value)
    return template


def values(release: Release) -> dict[str, str]:
    """Return what control file and spec are filled with."""
    day = release.day
    month = _MONTHS[day.month - 1]
    return {
        "VERSION": release.version,
        "MAINTAINER": release.maintainer,
        "ADDRESS": release.address,
        "RPM_DAY": f"{_DAYS[day.weekday()]} {month} {day.day:02} {day.year}",
    }


def write_deb(release: Release, folder: Path, log: IO[str]) -> Path:
    """Write the .deb from the source archive in a folder, into the same folder."""
    target = folder / f"{NAME}_{release.version}_all.deb"
    with tempfile.TemporaryDirectory(prefix="dsportal-deb-") as scratch:
        root = Path(scratch) / "root"
        shared = root / "usr/share" / NAME
        shared.mkdir(parents=True)
        archive = folder / source_archive(release)
        words = ("--extract", "--strip-components=1", "--directory", shared, "--file", archive)
        run(["tar", *words], log=log)
        for path in shared.iterdir():
            if path.name in LEFT_OUT or path.name.startswith("."):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        command = root / "usr/sbin" / INSTALLER
        command.parent.mkdir()
        command.symlink_to(f"../share/{NAME}/deploy/site/install")
        _write_documents(release, root, shared)
        _write_control(release, root)
        # The folder itself is private, and would be so in the package.
        for made in (root, *(path for path in root.rglob("*") if path.is_dir())):
            made.chmod(0o755)
        build = ("dpkg-deb", "--root-owner-group", "--build", root, target)
        run(
            build,
            log=log,
            env=environment(release),
            next_step="Make the release on Debian, which has dpkg-deb.",
        )
    return target


def _write_documents(release: Release, root: Path, shared: Path) -> None:
    documents = root / "usr/share/doc" / NAME
    documents.mkdir(parents=True)
    template = (TEMPLATES_DIR / "debian/copyright").read_text()
    (documents / "copyright").write_text(filled(template, values(release)))
    packed = gzip.compress((shared / CHANGELOG).read_bytes(), mtime=0)
    (documents / "changelog.gz").write_bytes(packed)


def _write_control(release: Release, root: Path) -> None:
    size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
    control = root / "DEBIAN/control"
    control.parent.mkdir()
    template = (TEMPLATES_DIR / "debian/control").read_text()
    installed = {"INSTALLED_KIB": str(-(-size // 1024))}
    control.write_text(filled(template, {**values(release), **installed}))


def write_rpm(release: Release, folder: Path, log: IO[str]) -> Path | None:
    """Write the spec, and the rpm if this machine has rpmbuild, beside the source archive.

    Returns:
        The rpm; None without rpmbuild.
    """
    template = (TEMPLATES_DIR / f"rpm/{NAME}.spec").read_text()
    spec = folder / f"{NAME}.spec"
    spec.write_text(filled(template, values(release)))
    if shutil.which("rpmbuild") is None:
        return None
    with tempfile.TemporaryDirectory(prefix="dsportal-rpm-") as scratch:
        folders = {"_topdir": scratch, "_sourcedir": str(folder), "_rpmdir": scratch}
        options = [word for item in folders.items() for word in ("--define", " ".join(item))]
        run(["rpmbuild", "-bb", *options, spec], log=log, env=environment(release))
        (made,) = Path(scratch).glob("noarch/*.rpm")
        return Path(shutil.move(made, folder / made.name))
