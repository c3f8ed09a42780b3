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
from deploy.packaging.signature import Key, gpg_key, sign, ssh_key, write_sums
from deploy.packaging.version import (
    CHANGELOG,
    CITATION,
    Release,
    cited,
    dated_changelog,
    notes,
    read_version,
)

COMMAND = "deploy/release"


def main(argv: Sequence[str]) -> int:
    """Make a release of the checkout.

    Returns:
        Exit status: 0 if all files are there and the tag is set; 1 if something failed, and then
        the checkout is as it was.
    """
    wanted = parse_arguments(argv)
    log_path = Path(tempfile.gettempdir()) / f"{NAME}-release.log"
    try:
        release = requested_release(wanted, SOURCE_DIR)
        with log_path.open("w") as log:
            make_release(SOURCE_DIR, release, wanted.key, wanted.out.absolute(), log)
    except (DeployError, OSError) as error:
        next_step = error.next_step if isinstance(error, DeployError) else ""
        print(f"{COMMAND}: {error} {next_step or f'Look into {log_path}.'}", file=sys.stderr)
        return 1
    print(f"\n{release.tag} is tagged. Nothing was uploaded: RELEASE.md says what comes next.")
    return 0


def parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog=COMMAND,
        description="Release the version that the checkout says it is: date the changelog, commit "
        "and tag, and write source archives, wheels, .deb, rpm, bills of materials and signed "
        "checksums. It uploads nothing.",
    )
    add = parser.add_argument
    add(
        "--address",
        required=True,
        metavar="URL",
        help="the repository, as readers open it; links of the README lead there",
    )
    key = parser.add_mutually_exclusive_group(required=True)
    key.add_argument(
        "--gpg-key",
        dest="key",
        type=gpg_key,
        metavar="NAME",
        help="fingerprint or mail address of the OpenPGP key that signs the checksums",
    )
    key.add_argument(
        "--ssh-key",
        dest="key",
        type=ssh_key,
        metavar="FILE",
        help="the OpenSSH key that signs them",
    )
    add("--out", type=Path, default=Path("dist"), metavar="FOLDER", help="default: %(default)s")
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
        day=datetime.now(UTC).date(),
        address=wanted.address.rstrip("/"),
        maintainer=git(checkout, "var", "GIT_COMMITTER_IDENT").rpartition(">")[0] + ">",
    )
    if git(checkout, "tag", "--list", release.tag):
        raise DeployError(
            f"{release.tag} is tagged already.",
            "Write the next version into the files that say it, and begin its changelog.",
        )
    if wanted.out.exists() and any(wanted.out.iterdir()):
        raise DeployError(f"{wanted.out} is not empty.", "Name another folder with --out.")
    return release


def make_release(checkout: Path, release: Release, key: Key, out: Path, log: IO[str]) -> None:
    """Write all files, then commit and tag.

    Everything happens in a clone, so that a failure leaves the checkout and `out` as they are.
    """
    with tempfile.TemporaryDirectory(prefix="dsportal-release-") as scratch:
        clone, made = Path(scratch) / "clone", Path(scratch) / "made"
        made.mkdir()
        run(["git", "clone", "--quiet", checkout, clone], log=log)
        commit_release(clone, release)
        write_files(clone, release, made, log)
        sign(write_sums(made), key)
        git(checkout, "pull", "--quiet", "--ff-only", str(clone), "HEAD")
        git(checkout, "tag", "--annotate", "--message", f"Release {release.version}", release.tag)
        shutil.copytree(made, out, dirs_exist_ok=True)
    for path in sorted(out.iterdir()):
        print(f"{path.stat().st_size / 1024:8.0f} KiB  {path.name}")
    if shutil.which("rpmbuild") is None:
        print(f"No rpm was built, since there is no rpmbuild: only {NAME}.spec is there.")


def commit_release(clone: Path, release: Release) -> None:
    """Commit what the day of the release changes."""
    for name, change in ((CHANGELOG, dated_changelog), (CITATION, cited)):
        path = clone / name
        path.write_text(change(path.read_text(), release))
    name, _, mail = release.maintainer.removesuffix(">").partition(" <")
    author = ("-c", f"user.name={name}", "-c", f"user.email={mail}")
    git(clone, *author, "commit", "--quiet", "--all", "--message", f"Release {release.version}")


def write_files(clone: Path, release: Release, made: Path, log: IO[str]) -> None:
    """Write everything that is published, but the checksums."""
    folder = f"{NAME}-{release.version}/"
    archive = made / source_archive(release)
    modes = ("-c", "tar.umask=0022")
    git(clone, *modes, "archive", f"--prefix={folder}", f"--output={archive}", "HEAD")
    write_python_packages(Plan(source_dir=clone), release, made, log)
    write_deb(release, made, log)
    write_rpm(release, made, log)
    changelog = (clone / CHANGELOG).read_text()
    (made / f"{NAME}-{release.version}-notes.md").write_text(notes(changelog, release.version))
    bills = made.parent / "sbom"
    run([clone / "deploy/sbom", "--out", bills], log=log)
    packed = made / f"{NAME}-{release.version}-sbom.tar.gz"
    run(["tar", "--create", "--gzip", "--file", packed, "--directory", bills, "."], log=log)


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
