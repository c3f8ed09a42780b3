"""Packages that a user installs for the shipped kernels, in the kernels themselves."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.environments.builder.plan import Plan
from tests.deploy.conftest import as_nobody
from tests.support.cells import RUN_CELL
from tests.support.wheels import make_wheel

SERVER = Plan().environment("server")
FOLDER = ".local/share/data-scientist-portal/packages"


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """An index without the network."""
    folder = tmp_path / "wheels"
    folder.mkdir(mode=0o755)
    make_wheel(folder, "tinypackage", "1.5", "import os\nSAYS = 'tiny'\n")
    # Its module hides that of a shipped package.
    make_wheel(folder, "badpackage", "9.0", "SAYS = 'mine'\n", module="comm")
    make_wheel(folder, "comm", "99.0", "SAYS = 'mine'\n")
    return folder


def run_cell(home: Path, wheels: Path, kernel: str, cell: str) -> str:
    """Start a kernel as the notebook server does, run one cell and return what it showed."""
    index = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}
    argv = [SERVER / "bin/python", "-c", RUN_CELL, kernel, cell]
    return as_nobody(argv, home, **index)


def dsportal(home: Path, wheels: Path, *words: str) -> str:
    index = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}
    return as_nobody([SERVER / "bin/dsportal", "packages", *words], home, **index)


def overlay(home: Path, kernel: str) -> Path:
    (folder,) = home.joinpath(FOLDER).glob(f"{kernel}-*")
    return folder


@pytest.mark.parametrize(
    ("kernel", "shipped"), [("python3", "pandas"), ("tensorflow", "keras"), ("pytorch", "torch")]
)
def test_a_package_is_installed_from_a_cell_of_each_kernel(
    home: Path, wheels: Path, kernel: str, shipped: str
) -> None:
    cell = (
        f"%pip install tinypackage {shipped}\n"
        "listed = get_ipython().getoutput('pip list')\n"
        f"print('LISTED', [any(line.startswith(name + ' ') for line in listed) "
        f"for name in ('tinypackage', {shipped!r})])\n"
        "import importlib.metadata, sys, tinypackage\n"
        f"print('FOUND', tinypackage.SAYS, importlib.metadata.version({shipped!r}))\n"
        "print('FROM', tinypackage.__file__)\n"
        "print('OVER', get_ipython().getoutput('echo $PORTAL_ENVIRONMENT')[0])"
    )

    said = run_cell(home, wheels, kernel, cell)

    assert f"Requirement already satisfied: {shipped}" in said
    assert "Successfully installed tinypackage-1.5\n" in said
    assert "LISTED [True, True]" in said
    assert "FOUND tiny" in said
    assert f"FROM {overlay(home, kernel)}/lib" in said
    below = SERVER.with_name({"python3": "server"}.get(kernel, kernel))
    assert f"OVER {below}\n" in said
    assert "tinypackage 1.5" in dsportal(home, wheels, "list", kernel)


def test_what_a_user_installs_never_reaches_the_notebook_server(home: Path, wheels: Path) -> None:
    told = dsportal(home, wheels, "pip", "python3", "install", "--quiet", "tinypackage")
    assert "Successfully" not in told
    said = run_cell(home, wheels, "python3", "import tinypackage; print(tinypackage.SAYS)")
    program = "import importlib.util; print(importlib.util.find_spec('tinypackage'))"

    assert said.split() == ["tiny"]
    assert as_nobody([SERVER / "bin/python", "-c", program], home).strip() == "None"


@pytest.mark.release
def test_a_package_that_breaks_the_kernel_is_named_with_the_way_back(
    home: Path, wheels: Path
) -> None:
    run_cell(home, wheels, "python3", "%pip install tinypackage badpackage")

    said = run_cell(home, wheels, "python3", "%pip uninstall --yes badpackage")

    assert "This kernel does not start with your package badpackage 9.0, in" in said
    assert str(overlay(home, "python3")) in said
    assert "dsportal packages reset python3" in said
    assert "Successfully uninstalled badpackage-9.0" in said
    cell = "import tinypackage; print(tinypackage.SAYS)"
    assert run_cell(home, wheels, "python3", cell).split() == ["tiny"]


def test_what_the_kernel_ships_is_not_replaced_unless_the_user_insists(
    home: Path, wheels: Path
) -> None:
    version = "import importlib.metadata; print('NOW', importlib.metadata.version('comm'))"

    said = run_cell(home, wheels, "python3", f"%pip install comm==99.0\n{version}")
    assert "This kernel comes with comm " in said
    assert "NOW 99.0" not in said

    said = run_cell(
        home, wheels, "python3", f"!PIP_CONSTRAINT=/dev/null pip install comm==99.0\n{version}"
    )
    assert "NOW 99.0" in said


def test_a_kernel_starts_without_the_packages_where_the_user_says_so(
    home: Path, wheels: Path
) -> None:
    find = "import importlib.util; print(importlib.util.find_spec('tinypackage') is None)"
    run_cell(home, wheels, "python3", "%pip install tinypackage")

    dsportal(home, wheels, "off", "python3")
    said = run_cell(home, wheels, "python3", find)
    assert "switched off" in said
    assert said.split()[-1] == "True"

    dsportal(home, wheels, "on", "python3")
    assert run_cell(home, wheels, "python3", find).split() == ["False"]


def test_a_new_release_of_a_kernel_installs_the_packages_of_the_old_one(
    home: Path, wheels: Path
) -> None:
    cell = "import tinypackage; print(tinypackage.SAYS)"
    run_cell(home, wheels, "python3", "%pip install tinypackage")
    overlay(home, "python3").rename(home / FOLDER / "python3-3.9")

    said = run_cell(home, wheels, "python3", cell)
    assert "This is a new release of the kernel python3. Installing your packages" in said
    assert "Your packages are installed for this release" in said
    assert said.split()[-1] == "tiny"


@pytest.mark.release
def test_packages_that_no_index_has_any_more_are_offered_from_the_second_start_on(
    home: Path, wheels: Path
) -> None:
    run_cell(home, wheels, "python3", "%pip install tinypackage")
    overlay(home, "python3").rename(home / FOLDER / "python3-3.9")
    kept = [path.rename(wheels.parent / path.name) for path in wheels.glob("tinypackage*")]

    said = run_cell(home, wheels, "python3", "print(6 * 7)")
    assert "Your packages are not all installed for this release" in said
    said = run_cell(home, wheels, "python3", "print(6 * 7)")
    assert "Your packages are still those of python3-3.9" in said
    assert "dsportal packages reinstall python3" in said

    for path in kept:
        path.rename(wheels / path.name)
    assert "python3: installed tinypackage." in dsportal(home, wheels, "reinstall", "python3")
    assert "%pip install tinypackage" in dsportal(home, wheels, "reset", "python3")
    assert run_cell(home, wheels, "python3", "print(6 * 7)").split() == ["42"]


@pytest.fixture(params=["ro", "nr_inodes=1"])
def closed_folder(home: Path, request: pytest.FixtureRequest) -> Iterator[None]:
    """What a home that is read-only or full means for the folder of packages."""
    folder = home / FOLDER
    folder.mkdir(parents=True)
    subprocess.run(["chown", "-R", "65534:65534", home], check=True)
    options = f"{request.param},uid=65534,gid=65534"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True, timeout=10)
    yield
    subprocess.run(["umount", "-l", folder], check=True, timeout=10)


@pytest.mark.usefixtures("closed_folder")
def test_a_kernel_starts_and_says_so_where_the_home_takes_no_packages(
    home: Path, wheels: Path
) -> None:
    said = run_cell(home, wheels, "python3", "print(6 * 7)")

    assert "This kernel runs without your own packages" in said
    assert "Make room in your home folder" in said
    assert said.split()[-1] == "42"


def test_r_installs_into_a_folder_of_the_user(home: Path, tmp_path: Path) -> None:
    package = tmp_path / "tinyr"
    package.mkdir(mode=0o755)
    fields = "Package: tinyr\nVersion: 1.0\nTitle: T\nDescription: D.\nLicense: MIT\nAuthor: A\n"
    package.joinpath("DESCRIPTION").write_text(f"{fields}Maintainer: A <a@example.org>\n")
    package.joinpath("NAMESPACE").write_text("export(says)\n")
    package.joinpath("R").mkdir(mode=0o755)
    package.joinpath("R/says.R").write_text("says <- function() 'tiny'\n")
    cell = f"install.packages('{package}', repos = NULL, type = 'source')\ncat(tinyr::says())"

    said = as_nobody([SERVER / "bin/python", "-c", RUN_CELL, "ir", cell], home)

    assert said.split()[-1] == "tiny"
    assert list(home.glob("R/*/*/tinyr/DESCRIPTION"))

    cell = "cat(requireNamespace('tinyr', quietly = TRUE))"
    argv = [SERVER / "bin/python", "-c", RUN_CELL, "ir", cell]
    assert as_nobody(argv, home, PORTAL_PACKAGES="off").split()[-1] == "FALSE"
