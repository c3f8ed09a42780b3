"""What is known of the environments of the registry while a session starts, and later."""

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from portal.environments.command import Node
from portal.server.kernels.kernels import Kernels
from portal.server.kernels.without_packages import KernelsWithoutPackages

LOG = logging.getLogger("test_kernels")


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An environment that says it has Keras 3.9.1."""
    folder = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (site_packages,) = folder.glob("lib/python3*/site-packages")
    (site_packages / "ipykernel.py").touch()
    (site_packages / "keras-3.9.1.dist-info").mkdir()
    (site_packages / "keras-3.9.1.dist-info/METADATA").write_text("Name: keras\nVersion: 3.9.1\n")
    return folder


def kernels_of(folder: Path, table: str) -> Kernels:
    registry = folder / "environments.toml"
    registry.write_text(f"[site]\n{table}\n")
    return Kernels(
        folder / "kernels",
        site=registry,
        home=folder,
        node=Node(),
        without_packages=KernelsWithoutPackages(
            folder / "without", shipped=folder / "absent", home=folder, log=LOG
        ),
        log=LOG,
    )


def test_what_an_environment_has_now_counts_before_what_it_had_when_it_was_added(
    tmp_path: Path, environment: Path
) -> None:
    table = f'virtualenv = "{environment}"\npackages = ["keras==2.15.0", "numpy==1.26.4"]'
    kernels = kernels_of(tmp_path, table)

    kernels.refresh()

    assert kernels.packages(timeout_s=0) == {"site-site": ("keras==3.9.1",)}


def test_an_environment_that_does_not_say_what_it_has_keeps_what_was_written_down(
    tmp_path: Path,
) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    kernels = kernels_of(tmp_path, f'interpreter = "{program}"\npackages = ["keras==2.15.0"]')

    kernels.refresh()

    assert kernels.packages(timeout_s=0) == {"site-site": ("keras==2.15.0",)}


def test_packages_of_an_environment_that_does_not_work_here_are_those_of_no_kernel(
    tmp_path: Path,
) -> None:
    kernels = kernels_of(tmp_path, 'interpreter = "/bin/false"\npackages = ["keras"]')

    kernels.refresh()

    assert kernels.packages(timeout_s=0) == {}
