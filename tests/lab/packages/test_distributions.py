"""The .deb in a Debian and the rpm in an empty root: the installer works from there."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.environments.builder.package_sources import SETTING
from tests.lab.packages.conftest import Releases
from tests.support.debian_root import CACHE_DIR, ensure_root

NAME = "data-scientist-portal"
SHARED = Path("usr/share") / NAME
# What the package depends on, and a host of a cluster has.
PACKAGES = ("python3", "python3-venv", "sudo", "slurm-client")
CHECK = ("dsportal-install", "--check", "--shared", "/srv/dsportal", "--users-group", "users")


def run(*argv: str | Path, status: int = 0) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def debian() -> Path:
    """A Debian without the portal."""
    return ensure_root(CACHE_DIR / "packages/bookworm", "bookworm", PACKAGES)


@pytest.fixture
def installed(debian: Path, releases: Releases) -> Iterator[Path]:
    """The same with the .deb of the last release."""
    package = debian / "tmp/portal.deb"
    shutil.copyfile(releases.last.file("*.deb"), package)
    try:
        run("chroot", debian, "dpkg", "--install", "/tmp/portal.deb")
        yield debian
    finally:
        package.unlink()
        subprocess.run(["chroot", debian, "dpkg", "--purge", NAME], check=True, timeout=300)


def test_the_installer_of_the_deb_says_what_it_would_do(installed: Path) -> None:
    # Folders that this machine takes packages from are not there.
    said = run("chroot", installed, "env", f"{SETTING}=", *CHECK, status=2)

    assert "would  hub, proxy and launcher in /opt/data-scientist-portal/" in said
    assert "would  /etc/data-scientist-portal/portal.toml" in said
    assert "nothing was" in said
    assert not (installed / "opt/data-scientist-portal").exists()


def test_the_deb_is_upgraded_and_leaves_nothing_when_it_is_removed(
    installed: Path, releases: Releases
) -> None:
    shutil.copyfile(releases.next.file("*.deb"), installed / "tmp/portal.deb")
    run("chroot", installed, "dpkg", "--install", "/tmp/portal.deb")
    assert releases.next.version in (installed / SHARED / "spawner/__init__.py").read_text()

    run("chroot", installed, "dpkg", "--purge", NAME)

    assert not (installed / SHARED).exists()
    assert not (installed / "usr/sbin/dsportal-install").exists()


def test_deb_and_rpm_bring_the_same_files(installed: Path, releases: Releases) -> None:
    said = run("rpm", "--query", "--package", "--list", releases.last.file("*.rpm"))

    files = {line for line in said.splitlines() if line.startswith(f"/{SHARED}/")}
    expected = {f"/{path.relative_to(installed)}" for path in (installed / SHARED).rglob("*")}
    assert files == expected


def test_the_rpm_is_installed_and_its_installer_runs(releases: Releases, tmp_path: Path) -> None:
    root = ("--root", tmp_path, "--dbpath", "/var/lib/rpm")
    run("rpm", *root, "--initdb")
    # Its requirements are not in the empty root.
    run("rpm", *root, "--install", "--nodeps", releases.last.file("*.rpm"))

    said = run(tmp_path / "usr/sbin/dsportal-install", "--help")
    assert said.startswith("usage: dsportal-install ")
    requirements = run("rpm", "--query", "--package", "--requires", releases.last.file("*.rpm"))
    assert "python(abi) = 3.11 or" in requirements
    assert run("rpm", *root, "--query", NAME).startswith(f"{NAME}-{releases.last.version}-1")
