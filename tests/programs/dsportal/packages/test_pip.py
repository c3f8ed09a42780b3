"""What pip says in a kernel, over the interpreter of this test and wheels made here."""

import os
import subprocess
from pathlib import Path

import pytest

from dsportal.packages.overlay import Overlay, find_overlay, this_environment
from tests.support.wheels import make_wheel


@pytest.fixture
def overlay(tmp_path: Path) -> Overlay:
    overlay = find_overlay(tmp_path / "home", "tensorflow", "2.21-py3.11")
    overlay.make(this_environment())
    return overlay


def run_pip(overlay: Overlay, wheels: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PIP_")},
        **{"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)},
    }
    return subprocess.run(
        [overlay.pip, *words], cwd=wheels, env=environ, capture_output=True, text=True, check=False
    )


def test_a_package_that_needs_another_version_of_a_shipped_one_is_refused_in_words(
    overlay: Overlay, tmp_path: Path
) -> None:
    make_wheel(tmp_path, "needy", "1.0", "", requires="pytest<1")
    make_wheel(tmp_path, "pytest", "0.9", "")

    done = run_pip(overlay, tmp_path, "install", "needy")

    assert done.returncode != 0
    assert f"This kernel comes with pytest {pytest.__version__}, which" in done.stderr
    assert "'New Environment' in the launcher" in done.stderr


def test_a_package_that_no_index_has_is_not_blamed_on_the_kernel(
    overlay: Overlay, tmp_path: Path
) -> None:
    done = run_pip(overlay, tmp_path, "install", "absent")

    assert done.returncode != 0
    assert "No matching distribution found for absent" in done.stderr
    assert "This kernel" not in done.stderr


def test_what_is_shipped_and_what_is_installed_are_listed_together(
    overlay: Overlay, tmp_path: Path
) -> None:
    make_wheel(tmp_path, "tinypackage", "1.5", "", requires="pytest")

    done = run_pip(overlay, tmp_path, "install", "--user", "tinypackage")
    listed = run_pip(overlay, tmp_path, "list").stdout

    assert done.returncode == 0, done.stderr
    assert "--user is left out" in done.stdout
    assert {"pytest", "tinypackage"} <= set(listed.split())


def test_a_module_in_the_folder_of_the_notebook_is_not_taken_for_pip(
    overlay: Overlay, tmp_path: Path
) -> None:
    for name in ("pip", "re"):
        tmp_path.joinpath(f"{name}.py").write_text("raise SystemExit('from the folder')\n")

    assert run_pip(overlay, tmp_path, "--version").stdout.startswith("pip ")
