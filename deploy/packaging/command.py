"""The command line of deploy/release."""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from deploy.common.errors import DeployError
from deploy.environments.builder.plan import SOURCE_DIR, Plan
from deploy.environments.builder.process import run
from deploy.packaging.packages import (
    NAME,
    builder_python,
    source_archive,
    write_deb,
    write_python_packages,
    write_rpm,
)
from deploy.packaging.version import CHANGELOG, Release, notes, read_version

COMMAND = "deploy/release"


def main(argv: Sequence[str]) -> int:
    """Write the files of a release.

    Returns:
        Exit status: 0 if all files are there, 1 if something failed.
    """
    wanted = parse_arguments(argv)
    log_path = Path(tempfile.gettempdir()) / f"{NAME}-release.log"
    try:
        release = requested_release(wanted, SOURCE_DIR)
        with log_path.open("w") as log:
            write_files(SOURCE_DIR, release, wanted.out.absolute(), log)
    except (DeployError, OSError) as error:
        next_step = error.next_step if isinstance(error, DeployError) else ""
        print(f"{COMMAND}: {error} {next_step or f'Look into {log_path}.'}", file=sys.stderr)
        return 1
    print(f"The files are in {wanted.out}. RELEASE.md says how to sign and publish them.")
    return 0


def parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog=COMMAND,
        description="Write the files of the version that the checkout is tagged with: source "
        "archives, wheels, .deb, rpm, bills of materials and checksums. It uploads nothing.",
    )
    parser.add_argument(
        "--address",
        required=True,
        metavar="URL",
        help="the repository, as readers open it; links of the README lead there",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("dist"), metavar="FOLDER", help="default: %(default)s"
    )
    return parser.parse_args(argv)


def requested_release(wanted: argparse.Namespace, checkout: Path) -> Release:
    """Return the release that a command line asks for."""
    if not wanted.address.startswith("https://"):
        raise DeployError(
            f"{wanted.address} is no address of the form https://forge.example/portal."
        )
    # Before anything is written: it may have to be built first.
    builder_python(Plan())
    if changed := git(checkout, "status", "--porcelain"):
        raise DeployError(
            f"The checkout has changes that no commit has: {changed.splitlines()[0].strip()} ...",
            "Commit them or take them back.",
        )
    release = Release(
        version=read_version(checkout),
        # Midnight in UTC of the day of the commit: made again, the files are the same.
        day=datetime.fromtimestamp(int(git(checkout, "log", "-1", "--format=%ct")), UTC).date(),
        address=wanted.address.rstrip("/"),
        maintainer=git(checkout, "var", "GIT_COMMITTER_IDENT").rpartition(">")[0] + ">",
    )
    if release.tag not in git(checkout, "tag", "--points-at", "HEAD").splitlines():
        raise DeployError(
            f"This commit has no tag {release.tag}.",
            "Check out the tag of the version, or make it: RELEASE.md says how.",
        )
    if wanted.out.exists() and any(wanted.out.iterdir()):
        raise DeployError(f"{wanted.out} is not empty.", "Name another folder with --out.")
    return release


def write_files(checkout: Path, release: Release, out: Path, log: IO[str]) -> None:
    """Write everything that is published, into a folder that is empty if it is there."""
    out.mkdir(parents=True, exist_ok=True)
    folder = f"{NAME}-{release.version}"
    modes = ("-c", "tar.umask=0022")
    archive = out / source_archive(release)
    git(checkout, *modes, "archive", f"--prefix={folder}/", f"--output={archive}", "HEAD")
    with tempfile.TemporaryDirectory(prefix="dsportal-release-") as scratch:
        # What git ignores is no part of a release.
        run(["tar", "--extract", "--directory", scratch, "--file", archive], log=log)
        write_python_packages(Plan(source_dir=Path(scratch, folder)), release, out, log)
        bills = Path(scratch, "sbom")
        run([checkout / "deploy/sbom", "--out", bills], log=log)
        packed = out / f"{folder}-sbom.tar.gz"
        run(["tar", "--create", "--gzip", "--file", packed, "--directory", bills, "."], log=log)
    write_deb(release, out, log)
    write_rpm(release, out, log)
    changelog = (checkout / CHANGELOG).read_text()
    (out / f"{folder}-notes.md").write_text(notes(changelog, release.version))
    names = sorted(path.name for path in out.iterdir())
    with (out / "SHA256SUMS").open("wb") as sums:
        subprocess.run(["sha256sum", *names], cwd=out, check=True, stdout=sums)
    if shutil.which("rpmbuild") is None:
        print(f"No rpm was built, since there is no rpmbuild: only {NAME}.spec is there.")


def git(checkout: Path, *words: str) -> str:
    """Run git on a checkout; return what it prints, without surrounding blanks."""
    command = ["git", "-C", str(checkout), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise DeployError(f"git could not be started: {error.strerror}.", "Install git.") from error
    if done.returncode != 0:
        raise DeployError(f"'{' '.join(command)}' failed: {done.stderr.strip()}")
    return done.stdout.strip()
