"""The files of two releases, made once for all tests."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.lab.packages.release_files import ReleaseFiles, Releaser, published


@dataclass(frozen=True, slots=True, kw_only=True)
class Releases:
    """The last release and the one after it."""

    releaser: Releaser
    last: ReleaseFiles
    next: ReleaseFiles


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --released."""
    parser.addoption(
        "--released",
        type=Path,
        metavar="FOLDER",
        help="the published files of the last release, which is then not made again",
    )


@pytest.fixture(scope="session")
def releases(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Releases:
    """Both, made by the command for releases; the last one as it was published, if it is given."""
    releaser = Releaser(tmp_path_factory.mktemp("releases"))
    folder: Path | None = pytestconfig.getoption("--released")
    last = releaser.last() if folder is None else published(folder)
    return Releases(releaser=releaser, last=last, next=releaser.next())
