"""Packages of the system where there is no apt-get: named, never installed."""

import ast
import io
import sys
from pathlib import Path

import pytest

from deploy import oldest_python
from deploy.common import command
from deploy.common.errors import DeployError
from deploy.environments.builder import debian, horovod
from deploy.oldest_python import refuse_older
from deploy.one_machine import packages


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of programs, without apt-get."""
    monkeypatch.setattr(debian, "SYSTEM_PATH", str(tmp_path))
    monkeypatch.setattr(command, "CLEAN_ENVIRONMENT", {"PATH": str(tmp_path)})
    return tmp_path


def put(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)


def test_what_is_missing_is_named_as_the_system_names_it(programs: Path) -> None:
    put(programs, "make")

    with pytest.raises(DeployError) as caught:
        debian.ensure_packages(["g++", "make", "python3.12-dev"], io.StringIO())

    assert "no apt-get, and lacks what Debian has in g++, python3.12-dev." in str(caught.value)
    assert "'dnf install gcc-c++ python3.12-devel'" in caught.value.next_step


def test_nothing_is_asked_for_where_the_programs_are_there(programs: Path) -> None:
    put(programs, "g++", "make", "cmake")

    debian.ensure_packages(horovod.BUILD_PACKAGES, io.StringIO())


def test_one_machine_says_which_systems_it_is_for(programs: Path) -> None:
    with pytest.raises(DeployError) as caught:
        packages.ensure_packages()

    assert "deploy/up is for Debian 12 and 13" in caught.value.message


def test_headers_of_python_are_looked_for_where_that_python_has_them(tmp_path: Path) -> None:
    python = tmp_path / "python3.12"
    python.write_text(f"#!/bin/sh\necho {tmp_path}\n")
    python.chmod(0o755)

    assert not horovod.has_headers(python)
    assert horovod.headers_package(python) == "python3.12-dev"
    (tmp_path / "Python.h").touch()
    assert horovod.has_headers(python)


def test_an_older_python_gets_a_sentence() -> None:
    with pytest.raises(SystemExit) as caught:
        refuse_older("deploy/site/install", (3, 9))

    assert f"needs Python 3.11 or newer, and {sys.executable} is 3.9." in str(caught.value)
    assert "'python3.12 -B deploy/site/install ...'" in str(caught.value)


@pytest.mark.parametrize("name", ["site/install", "environments/build", "up", "down"])
def test_an_older_python_can_read_what_comes_before_the_sentence(name: str) -> None:
    folder = Path(oldest_python.__file__).parent

    for path in (folder / "oldest_python.py", folder / name):
        ast.parse(path.read_text(), feature_version=(3, 7))
    assert "refuse_older(" in (folder / name).read_text()
