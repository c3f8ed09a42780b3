"""The folder of a user's packages: made at once, over the interpreter of this test."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from dsportal.packages.installed import packages_in, size_bytes
from dsportal.packages.overlay import (
    Overlay,
    distributions_in,
    find_overlay,
    list_overlays,
    this_environment,
)

SHIPPED = this_environment()


@pytest.fixture
def overlay(tmp_path: Path) -> Overlay:
    overlay = find_overlay(tmp_path, "tensorflow", "2.21-py3.11")
    overlay.make(SHIPPED)
    return overlay


def install(overlay: Overlay, name: str, version: str, origin: str = "") -> None:
    (site,) = overlay.site_packages()
    info = site / f"{name}-{version}.dist-info"
    info.mkdir()
    info.joinpath("METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
    info.joinpath("REQUESTED").touch()
    if origin:
        info.joinpath("direct_url.json").write_text(origin)


def ask(overlay: Overlay, program: str) -> str:
    argv = [overlay.python, "-c", program]
    return subprocess.run(argv, check=True, capture_output=True, text=True, env={}).stdout.strip()


def test_its_interpreter_is_in_it_and_sees_what_is_shipped(overlay: Overlay) -> None:
    assert ask(overlay, "import pytest, sys; print(sys.prefix)") == str(overlay.folder)
    assert ask(overlay, "import pytest; print(pytest.__version__)") == pytest.__version__


def test_what_is_in_it_goes_before_what_is_shipped(overlay: Overlay) -> None:
    (site,) = overlay.site_packages()
    site.joinpath("pytest.py").write_text("__version__ = 'mine'\n")

    assert ask(overlay, "import pytest; print(pytest.__version__)") == "mine"


def test_pip_is_that_of_the_interpreter(overlay: Overlay) -> None:
    argv = [overlay.folder / "bin/pip", "--version"]
    said = subprocess.run(argv, check=True, capture_output=True, text=True).stdout

    assert f"(python {SHIPPED.version})" in said


def test_what_an_ended_pip_has_left_behind_constrains_nothing(tmp_path: Path) -> None:
    for name in ("horovod", "~orovod"):
        (tmp_path / f"{name}-0.28.1+tf2.21.0.dist-info").mkdir()

    assert distributions_in([str(tmp_path)]) == {"horovod": "0.28.1+tf2.21.0"}


def test_pip_keeps_what_is_shipped_at_its_version(overlay: Overlay) -> None:
    conf = overlay.folder.joinpath("pip.conf").read_text()
    constraints = overlay.folder.joinpath("constraints.txt").read_text().splitlines()

    assert conf.splitlines()[-1] == f"constraint = file://{overlay.folder}/constraints.txt"
    assert f"pytest=={pytest.__version__}" in constraints
    assert not any(line.startswith(("pip==", "setuptools==")) for line in constraints)


def test_what_the_user_has_replaced_all_the_same_stays_replaced(overlay: Overlay) -> None:
    install(overlay, "pytest", "1.0")

    overlay.make(SHIPPED)

    constraints = overlay.folder.joinpath("constraints.txt").read_text().splitlines()
    assert not any(line.startswith("pytest==") for line in constraints)


def test_a_file_of_it_that_was_removed_comes_back(overlay: Overlay) -> None:
    overlay.pip.unlink()

    overlay.make(SHIPPED)

    assert overlay.pip.stat().st_mode & 0o100


def test_packages_of_the_last_release_are_installed_by_themselves_once(overlay: Overlay) -> None:
    assert not overlay.is_renewed
    assert overlay.begin_renewal()
    assert overlay.is_renewed
    assert not overlay.begin_renewal()


def test_making_it_again_changes_nothing(overlay: Overlay) -> None:
    before = overlay.fingerprint()
    overlay.make(SHIPPED)

    assert overlay.fingerprint() == before
    assert overlay.is_empty()
    assert [path.name for path in overlay.folder.parent.iterdir()] == [overlay.folder.name]


def test_it_follows_the_shipped_environment_to_another_place(
    overlay: Overlay, tmp_path: Path
) -> None:
    moved = replace(SHIPPED, base=tmp_path / "python", site_packages=(str(tmp_path / "new"),))
    tmp_path.joinpath("python").symlink_to(SHIPPED.base)
    tmp_path.joinpath("new").mkdir()
    before = overlay.fingerprint()

    overlay.make(moved)

    assert overlay.fingerprint() != before
    assert str(tmp_path / "new") in ask(overlay, "import sys; print(sys.path)")


def test_a_kernel_is_tried_again_after_something_was_installed(overlay: Overlay) -> None:
    overlay.remember_checked()
    assert overlay.is_checked
    install(overlay, "einops", "0.8")

    assert not overlay.is_checked
    assert not overlay.is_empty()


def test_packages_are_listed_with_what_pip_needs_to_have_them_again(overlay: Overlay) -> None:
    install(overlay, "einops", "0.8")
    vcs = '"vcs_info": {"vcs": "git", "commit_id": "abc"}'
    install(overlay, "mine", "1", f'{{"url": "https://git.example/mine", {vcs}}}')

    einops, mine = packages_in(overlay)

    assert (einops.requirement, einops.any_version) == ("einops==0.8", "einops")
    assert mine.requirement == "mine @ git+https://git.example/mine@abc"
    assert size_bytes(overlay.folder) > 0


def test_releases_of_a_kernel_are_told_from_other_kernels(overlay: Overlay, tmp_path: Path) -> None:
    find_overlay(tmp_path, "tensorflow-text", "1").make(SHIPPED)

    assert list_overlays(tmp_path, "tensorflow") == [overlay]


def test_a_release_that_was_half_deleted_counts_for_nothing(
    overlay: Overlay, tmp_path: Path
) -> None:
    half = overlay.folder.with_name("tensorflow-2.20-py3.11")
    half.mkdir()
    half.joinpath("pyvenv.cfg").touch()

    assert list_overlays(tmp_path, "tensorflow") == [overlay]


def test_two_kernels_that_start_at_once_share_one(overlay: Overlay, tmp_path: Path) -> None:
    late = Overlay(overlay.folder)
    late._make(SHIPPED)

    assert [path.name for path in overlay.folder.parent.iterdir()] == [overlay.folder.name]
    assert ask(late, "print(1)") == "1"
