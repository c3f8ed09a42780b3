"""One command makes a release: every file, their checksums, the commit and the tag."""

import subprocess
import tarfile
import zipfile
from pathlib import Path

from tests.lab.packages.conftest import Releases
from tests.lab.packages.release_files import ADDRESS, ReleaseFiles, Releaser, git


def kinds(files: ReleaseFiles) -> set[str]:
    """The names of the files, without the version."""
    names = {path.name.replace(files.version, "V") for path in files.folder.iterdir()}
    # Published files come with the signature of who made them.
    return names - {"SHA256SUMS.asc", "SHA256SUMS.sig"}


def test_every_file_of_a_release_is_made(releases: Releases) -> None:
    assert kinds(releases.last) == {
        "SHA256SUMS",
        "data-scientist-portal-V-1.noarch.rpm",
        "data-scientist-portal-V-notes.md",
        "data-scientist-portal-V-sbom.tar.gz",
        "data-scientist-portal-V-source.tar.gz",
        "data-scientist-portal.spec",
        "data-scientist-portal_V_all.deb",
        "data_scientist_portal-V-py3-none-any.whl",
        "data_scientist_portal-V.tar.gz",
        "dsportal-V-py3-none-any.whl",
        "dsportal-V.tar.gz",
    }
    assert kinds(releases.next) == kinds(releases.last)


def test_the_checksums_are_those_of_all_files(releases: Releases) -> None:
    folder = releases.next.folder

    command = ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"]
    assert subprocess.run(command, cwd=folder, check=False).returncode == 0
    n_files = len(list(folder.iterdir()))
    assert len((folder / "SHA256SUMS").read_text().splitlines()) == n_files - 1


def test_the_notes_are_what_the_changelog_says_of_the_version(releases: Releases) -> None:
    assert releases.next.file("*-notes.md").read_text() == "- More.\n"


def test_the_page_of_the_index_shows_the_pictures(releases: Releases) -> None:
    with zipfile.ZipFile(releases.next.wheel) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith("METADATA"))
        page = wheel.read(name).decode()

    assert f"({ADDRESS}/raw/v{releases.next.version}/docs/images/options.png)" in page
    assert f"Project-URL: Source, {ADDRESS}\n" in page


def test_the_source_archive_has_what_git_has(releases: Releases) -> None:
    tag = f"v{releases.next.version}"
    tracked = git(releases.releaser.clone, "ls-tree", "-r", "--name-only", tag)

    with tarfile.open(releases.next.file("*-source.tar.gz")) as archive:
        names = {one.name.partition("/")[2] for one in archive if not one.isdir()}
    assert names == set(tracked.splitlines())


def test_only_the_commit_that_has_the_tag_is_released(tmp_path: Path) -> None:
    releaser = Releaser(tmp_path)
    releaser.next()
    git(releaser.clone, "commit", "--quiet", "--allow-empty", "--message", "One more")

    ended = releaser.run("--out", str(tmp_path / "out"))

    assert ended.returncode == 1
    assert "This commit has no tag v" in ended.stderr
    assert not (tmp_path / "out").exists()
    (releaser.clone / "LICENSE").write_text("changed")
    assert "The checkout has changes that no commit has: M LICENSE" in releaser.run().stderr
