"""The wheels that sites and users install: what they declare and what is in them."""

import email
import importlib
import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from configparser import ConfigParser
from email.message import Message
from pathlib import Path

import pytest

import spawner
from deploy.environments.builder.package import LIBRARY_SOURCE, copy_sources
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.target import source_files

CHECKOUT = Path(__file__).parents[2]
# Written by hand: a misspelt key in setup.cfg loses a requirement without a word.
REQUIREMENTS = {
    "traitlets>=5.14",
    'cryptography>=42; extra == "hub"',
    'cryptography>=42; extra == "server"',
    'cryptography>=42; extra == "session"',
    'cryptography>=42; extra == "spawner"',
    'batchspawner>=1.3; extra == "hub"',
    'batchspawner>=1.3; extra == "spawner"',
    'jupyterhub<7,>=5.3; extra == "session"',
    'jupyterhub<7,>=5.3; extra == "spawner"',
    'jupyterlab<5,>=4.2; extra == "session"',
    'prometheus-client>=0.20; extra == "spawner"',
    'jupyterhub<7,>=6.1; extra == "hub"',
    'jupyterhub-ldapauthenticator>=2.0.2; extra == "hub"',
    'markdown-it-py<5,>=3; extra == "hub"',
    'prometheus-client>=0.20; extra == "hub"',
    'python-json-logger>=3.1; extra == "hub"',
    'httpcore>=1; extra == "server"',
    'jupyter-server>=2.15; extra == "server"',
    'jupyter-server-proxy>=4.4; extra == "server"',
    'jupyterhub<7,>=6.1; extra == "server"',
    'jupyterlab<5,>=4.6; extra == "server"',
    'notebook<8,>=7.6; extra == "server"',
    'nvidia-ml-py>=12; extra == "server"',
    'packaging>=24; extra == "server"',
    'papermill>=2.6; extra == "server"',
    'psutil>=5.9; extra == "server"',
    'tensorboard>=2.21; extra == "server"',
    'tomlkit>=0.13; extra == "hub"',
    'tomlkit>=0.13; extra == "server"',
    'websocket-client>=1.8; extra == "hub"',
    'horovod>=0.28.1; extra == "horovod"',
    'tensorflow>=2.15; extra == "horovod"',
}
ENTRY_POINTS = {
    # The command dsportal, as that wheel's own script finds it.
    "portal": "portal.cli:main",
    "dsportal-singleuser": "spawner.node.singleuser:main",
    "dsportal-user": "portal.cli:user_main",
    "slurm-gpu": "spawner.spawner:SlurmGPUSpawner",
}
# The wheel of dsportal, and what deploy/environments/build puts into the portal's own environments:
# what JupyterLab shows there, with its sources, and the pictures of the guides.
NOT_SHIPPED = (
    *("portal/dsportal/", "portal/hub/guides/images/"),
    *(f"portal/server/{name}/" for name in ("labextension", "labextension_src", "lab_settings")),
)
MOST_MB = 1.5


def build(source: Path, step: str) -> Path:
    """Run a step of setuptools in a folder of sources; return the folder of what it made."""
    made = source / "made"
    done = subprocess.run(
        [sys.executable, "-c", f"import setuptools.build_meta as build; build.{step}('made')"],
        cwd=source,
        env={**os.environ, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return made


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the packages are made from."""
    return copy_sources(Plan(), tmp_path_factory.mktemp("wheel") / "source")


@pytest.fixture(scope="module")
def wheel(sources: Path) -> Iterator[zipfile.ZipFile]:
    with zipfile.ZipFile(next(build(sources, "build_wheel").glob("*.whl"))) as archive:
        yield archive


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return email.message_from_bytes(wheel.read(name))


def test_the_wheel_says_what_it_is(metadata: Message) -> None:
    assert metadata["Name"] == "data_scientist_portal"
    assert metadata["Version"] == spawner.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"


def test_every_requirement_arrives_in_the_wheel(metadata: Message) -> None:
    assert set(metadata.get_all("Requires-Dist", [])) == REQUIREMENTS


def test_every_command_of_the_wheel_can_be_imported(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    parser = ConfigParser()
    parser.read_string(wheel.read(name).decode())
    declared = {
        key: value for section in parser.sections() for key, value in parser[section].items()
    }

    assert declared == ENTRY_POINTS
    for target in declared.values():
        module, _, attribute = target.partition(":")
        assert callable(getattr(importlib.import_module(module), attribute))


def test_only_the_three_packages_are_installed(wheel: zipfile.ZipFile) -> None:
    roots = {name.partition("/")[0] for name in wheel.namelist()}

    assert {root for root in roots if not root.endswith((".dist-info", ".data"))} == {
        "notebook_templates",
        "portal",
        "spawner",
    }


@pytest.mark.parametrize("package", ["spawner", "portal", "notebook_templates"])
def test_every_file_of_a_package_is_in_the_wheel(wheel: zipfile.ZipFile, package: str) -> None:
    files = (str(path.relative_to(CHECKOUT)) for path in source_files(CHECKOUT / package))
    expected = {name for name in files if not name.startswith(NOT_SHIPPED)}

    assert expected - set(wheel.namelist()) == set()


@pytest.mark.parametrize(
    "pattern",
    [
        "portal/hub/templates/*.html",
        "portal/hub/templates/existing_hub/*.html",
        "notebook_templates/*/*.ipynb",
    ],
)
def test_what_is_no_python_module_is_shipped_too(wheel: zipfile.ZipFile, pattern: str) -> None:
    assert [name for name in wheel.namelist() if Path(name).match(pattern)]


def test_installing_the_wheel_changes_nothing_of_a_sites_jupyter(wheel: zipfile.ZipFile) -> None:
    """A file below etc/jupyter or share/jupyter counts for every program of the environment."""
    assert [name for name in wheel.namelist() if ".data/" in name] == []


def test_the_wheel_is_small_since_it_goes_to_every_node(wheel: zipfile.ZipFile) -> None:
    assert Path(str(wheel.filename)).stat().st_size < MOST_MB * 1e6


@pytest.mark.parametrize("folder", ["", LIBRARY_SOURCE], ids=["portal", "dsportal"])
def test_the_source_archive_makes_the_same_wheel(
    sources: Path, folder: str, tmp_path: Path
) -> None:
    checkout = sources / folder
    (archive,) = build(checkout, "build_sdist").glob("*.tar.gz")
    subprocess.run(["tar", "--extract", "--file", archive, "--directory", tmp_path], check=True)
    (source,) = tmp_path.iterdir()

    (direct,) = build(checkout, "build_wheel").glob("*.whl")
    (from_archive,) = build(source, "build_wheel").glob("*.whl")
    with zipfile.ZipFile(direct) as one, zipfile.ZipFile(from_archive) as other:
        assert set(other.namelist()) == set(one.namelist())


def test_the_wheel_of_dsportal_alone_gives_a_laptop_the_command_and_its_man_page(
    sources: Path, tmp_path: Path
) -> None:
    wheel = next(build(sources / LIBRARY_SOURCE, "build_wheel").glob("*.whl"))
    laptop = tmp_path / "laptop"
    venv.create(laptop)
    pip = (sys.executable, "-m", "pip", "--python", str(laptop / "bin/python"), "install")
    subprocess.run([*pip, "--no-index", "--quiet", str(wheel)], check=True)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(laptop / "bin/dsportal"), *words],
            env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
        )

    assert run("--version").stdout == f"dsportal {spawner.__version__}\n"
    assert "Run: dsportal login" in run("list").stderr
    assert "needs the package websocket-client" in run("proxy", "gpu-session").stderr
    assert (laptop / "share/man/man1/dsportal.1").is_file()
