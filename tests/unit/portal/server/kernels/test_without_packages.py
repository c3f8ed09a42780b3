"""Which kernels are offered a second time, without the user's packages."""

import json
import logging
import shutil
from pathlib import Path
from typing import Any

import pytest

from dsportal.packages.overlay import Overlay, find_overlay, this_environment
from portal.server.kernels.without_packages import KernelsWithoutPackages, without_packages

SPECS: dict[str, dict[str, Any]] = {
    "tensorflow": {
        "display_name": "TensorFlow 2.21",
        "language": "python",
        "env": {"KEPT": "yes"},
        "metadata": {"packages_release": "2.21-py3.11"},
    },
    "site": {"display_name": "Without such packages", "language": "python"},
    "ir": {"display_name": "R", "language": "R", "metadata": {}},
}


@pytest.fixture
def kernels(tmp_path: Path) -> KernelsWithoutPackages:
    for name, spec in SPECS.items():
        folder = tmp_path / "shipped" / name
        folder.mkdir(parents=True)
        folder.joinpath("kernel.json").write_text(json.dumps(spec))
        folder.joinpath("logo-64x64.png").touch()
    return KernelsWithoutPackages(
        tmp_path / "offered",
        shipped=tmp_path / "shipped",
        home=tmp_path,
        log=logging.getLogger("test"),
    )


@pytest.fixture
def overlay(tmp_path: Path) -> Overlay:
    overlay = find_overlay(tmp_path, "tensorflow", "2.21-py3.11")
    overlay.make(this_environment())
    return overlay


def offered(kernels: KernelsWithoutPackages) -> list[str]:
    kernels.refresh()
    return sorted(path.name for path in kernels.folder.glob("*"))


def test_nothing_is_offered_twice_before_something_is_installed(
    kernels: KernelsWithoutPackages, overlay: Overlay
) -> None:
    assert offered(kernels) == []


def test_a_kernel_is_offered_without_packages_as_long_as_there_are_any(
    kernels: KernelsWithoutPackages, overlay: Overlay
) -> None:
    overlay.site_packages()[0].joinpath("einops.py").touch()

    assert offered(kernels) == ["tensorflow-without-packages"]
    assert kernels.folder.joinpath("tensorflow-without-packages/logo-64x64.png").exists()

    shutil.rmtree(overlay.folder)
    assert offered(kernels) == []


def test_r_is_offered_without_packages_once_its_user_has_some(
    kernels: KernelsWithoutPackages, tmp_path: Path
) -> None:
    package = tmp_path / "R/x86_64-pc-linux-gnu-library/4.2/praise"
    package.mkdir(parents=True)
    package.joinpath("DESCRIPTION").touch()

    assert offered(kernels) == ["ir-without-packages"]


def test_it_starts_as_the_kernel_does_but_for_one_variable() -> None:
    spec = without_packages(SPECS["tensorflow"])

    assert spec["display_name"] == "TensorFlow 2.21 (without your packages)"
    assert spec["env"] == {"KEPT": "yes", "PORTAL_PACKAGES": "off"}
    assert spec["metadata"] == SPECS["tensorflow"]["metadata"]


def test_kernels_that_cannot_be_read_are_logged(
    kernels: KernelsWithoutPackages, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tmp_path.joinpath("shipped/site/kernel.json").write_text("{")

    assert offered(kernels) == []
    assert "Kernels without the user's packages cannot be offered" in caplog.text
