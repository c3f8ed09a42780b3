"""Two releases, one after the other, made in a copy of the checkout by the command for releases."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from deploy.packaging.version import CHANGELOG, VERSION_FILES, read_version

CHECKOUT = Path(__file__).parents[3]
ADDRESS = "https://forge.example/site/portal"
WHO = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFiles:
    """What one run of deploy/release wrote."""

    version: str
    folder: Path

    def file(self, pattern: str) -> Path:
        """The one file of a pattern."""
        (found,) = self.folder.glob(pattern)
        return found

    @property
    def wheel(self) -> Path:
        """Hub and notebook server."""
        return self.file("data_scientist_portal-*.whl")


def published(folder: Path) -> ReleaseFiles:
    """Return the files of a release as they were published, once their checksums are right."""
    check = ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"]
    subprocess.run(check, cwd=folder, check=True)
    (wheel,) = folder.glob("data_scientist_portal-*.whl")
    return ReleaseFiles(version=wheel.name.split("-")[1], folder=folder.absolute())


def git(checkout: Path, *words: str) -> str:
    command = ["git", "-c", "safe.directory=*", *WHO, "-C", str(checkout), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


class Releaser:
    """Makes releases in a clone, whose tags are its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clone = folder / "clone"
        git(folder, "clone", "--quiet", str(CHECKOUT), str(self.clone))
        for name, value in (("user.name", "Ada"), ("user.email", "ada@example.com")):
            git(self.clone, "config", name, value)
        self.newest = git(self.clone, "rev-parse", "HEAD")

    def last(self) -> ReleaseFiles:
        """Make the last release again; without one, that of the last commit."""
        if tags := git(self.clone, "tag", "--list", "v*", "--sort=-version:refname").splitlines():
            git(self.clone, "checkout", "--quiet", tags[0])
        else:
            self.tag()
        return self.release()

    def tag(self) -> None:
        """Tag the commit with the version that it says."""
        git(self.clone, "tag", f"v{read_version(self.clone)}")

    def next(self) -> ReleaseFiles:
        """Make a release of the last commit, one version later."""
        git(self.clone, "checkout", "--quiet", "-B", "next", self.newest)
        major, minor, _ = read_version(self.clone).split(".")
        version = f"{major}.{int(minor) + 1}.0"
        for name in VERSION_FILES:
            path = self.clone / name
            line = f'__version__ = "{version}"'
            path.write_text(re.sub(r'^__version__ = ".*"$', line, path.read_text(), flags=re.M))
        changelog = self.clone / CHANGELOG
        heading = f"## [{version}] - 2027-03-04\n\n- More.\n\n## "
        changelog.write_text(changelog.read_text().replace("## ", heading, 1))
        git(self.clone, "commit", "--quiet", "--all", "--message", f"Release {version}")
        self.tag()
        return self.release()

    def release(self) -> ReleaseFiles:
        """Run the command for releases."""
        version = read_version(self.clone)
        out = self.folder / f"files-{version}"
        said = self.run("--out", str(out))
        assert said.returncode == 0, said.stdout + said.stderr
        return ReleaseFiles(version=version, folder=out)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the command for releases with these words; return how it ended."""
        return subprocess.run(
            [self.clone / "deploy/release", "--address", ADDRESS, *words],
            cwd=self.clone,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
