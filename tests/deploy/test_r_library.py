"""The user's R packages, found and installed again by the real R."""

import io
import tarfile
from pathlib import Path

import pytest

from portal.cli import user_main
from portal.packages import r_library


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home, with a repository of R that holds one package."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("R_LIBS_USER", raising=False)
    return tmp_path


def put_package(library: Path, name: str) -> None:
    library.joinpath(name).mkdir(parents=True)
    library.joinpath(name, "DESCRIPTION").write_text(f"Package: {name}\n")


def write_repository(folder: Path) -> None:
    """Make a repository of one package, and let R of this home use it alone."""
    contrib = folder / "repository/src/contrib"
    contrib.mkdir(parents=True)
    fields = "Package: tinyr\nVersion: 1.0\nTitle: T\nDescription: D.\nLicense: MIT\nAuthor: A\n"
    fields += "Maintainer: A <a@example.org>\n"
    with tarfile.open(contrib / "tinyr_1.0.tar.gz", "w:gz") as archive:
        for name, text in (
            ("DESCRIPTION", fields),
            ("NAMESPACE", "export(says)\n"),
            ("R/says.R", "says <- function() 'tiny'\n"),
        ):
            entry = tarfile.TarInfo(f"tinyr/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    contrib.joinpath("PACKAGES").write_text("Package: tinyr\nVersion: 1.0\n\n")
    folder.joinpath(".Rprofile").write_text(f"options(repos = 'file://{folder}/repository')\n")


def test_packages_of_the_last_version_of_r_are_installed_for_the_present_one(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    present = r_library.present_library()
    assert present is not None
    assert present.is_relative_to(home)
    put_package(present.with_name("3.6"), "elder")
    put_package(present.with_name("3.10"), "tinyr")
    write_repository(home)

    assert user_main(["packages", "reinstall", "ir"]) == 0

    assert f"R {present.name} has your packages of R 3.10." in capfd.readouterr().out
    assert r_library.packages_in(present) == ["tinyr"]


def test_a_package_that_no_repository_has_is_named(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    present = r_library.present_library()
    assert present is not None
    put_package(present.with_name("3.6"), "elder")
    write_repository(home)

    assert user_main(["packages", "reinstall", "ir"]) == 1

    said = capfd.readouterr().err
    assert "Not installed: elder" in said
    assert "could not install all your packages of R 3.6" in said


def test_without_packages_of_another_version_nothing_is_installed(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert user_main(["packages", "reinstall", "ir"]) == 0
    assert "no other version" in capfd.readouterr().out


def test_a_machine_without_r_says_where_to_go(
    monkeypatch: pytest.MonkeyPatch, home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(home))

    assert user_main(["packages", "reinstall", "ir"]) == 1
    assert "R does not start here" in capfd.readouterr().err
