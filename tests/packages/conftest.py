"""The files of two releases, made once for all tests."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.packages.release_files import ReleaseFiles, Releaser


@dataclass(frozen=True, slots=True, kw_only=True)
class Releases:
    """The last release and the one after it."""

    releaser: Releaser
    last: ReleaseFiles
    next: ReleaseFiles


@pytest.fixture(scope="session")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Releases:
    """Both, made by the command for releases."""
    releaser = Releaser(tmp_path_factory.mktemp("releases"))
    last = releaser.last()
    return Releases(releaser=releaser, last=last, next=releaser.next())
