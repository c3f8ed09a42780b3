"""Pinned files, and what of the caller reaches the package clients."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deploy.environments.builder.environment import canonical_name, read_pins
from deploy.environments.builder.errors import StepError
from deploy.environments.builder.horovod import replace_once, tensorflow_version
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.process import clean_environment

RECIPES_DIR = Plan().recipes_dir
PINNED_FILES = sorted(path for path in RECIPES_DIR.glob("*.txt") if path.stem != "horovod")


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_pins_are_read_whatever_the_spelling_of_their_names(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.txt", "# head\nJupyter_Server==2.21.1\n\ntensorflow[and-cuda]==2.21.0\n"
    )

    assert read_pins(path) == {"jupyter-server": "2.21.1", "tensorflow": "2.21.0"}


@pytest.mark.parametrize("line", ["numpy", "numpy>=2", "numpy==2 ; python_version<'3'", "-r a.txt"])
def test_a_line_that_is_no_pin_is_named_with_the_next_step(tmp_path: Path, line: str) -> None:
    path = write(tmp_path / "server.txt", f"{line}\n")

    with pytest.raises(StepError) as caught:
        read_pins(path)

    assert line in caught.value.what
    assert "server.in" in caught.value.next_step


def test_a_missing_pinned_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StepError, match=r"hub\.txt is missing"):
        read_pins(tmp_path / "hub.txt")


@pytest.mark.parametrize("path", PINNED_FILES, ids=lambda path: path.stem)
def test_a_pinned_file_fixes_all_that_was_asked_for(path: Path) -> None:
    pins = read_pins(path)
    lines = path.with_suffix(".in").read_text().splitlines()
    asked = [line for line in lines if line and line[0] not in "#-"]
    exact = {
        canonical_name(a.partition("==")[0].partition("[")[0]): a.partition("==")[2] for a in asked
    }

    assert set(exact) <= set(pins)
    assert {name: pins[name] for name, version in exact.items() if version} == {
        name: version for name, version in exact.items() if version
    }


def test_hub_and_sessions_speak_the_same_jupyterhub() -> None:
    versions = [read_pins(RECIPES_DIR / f"{name}.txt") for name in ("hub", "server", "test")]

    for package in ("jupyterhub", "tornado", "traitlets"):
        assert len({pins[package] for pins in versions}) == 1, package


def test_no_pinned_file_names_a_registry() -> None:
    files = [*RECIPES_DIR.glob("*.in"), *RECIPES_DIR.glob("*.txt")]
    locks = RECIPES_DIR.glob("*/package-lock.json")

    assert [path.name for path in files if "://" in path.read_text()] == []
    for lock in locks:
        packages = json.loads(lock.read_text())["packages"]
        assert [key for key, package in packages.items() if "resolved" in package] == []


def test_the_tensorflow_version_is_found_for_either_package(tmp_path: Path) -> None:
    cpu = write(tmp_path / "cpu.txt", "tensorflow-cpu==2.15.1\n")
    gpu = write(tmp_path / "gpu.txt", "tensorflow[and-cuda]==2.21.0\n")

    assert (tensorflow_version(cpu), tensorflow_version(gpu)) == ("2.15.1", "2.21.0")


def test_a_tensorflow_environment_without_tensorflow_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StepError, match="neither tensorflow nor tensorflow-cpu"):
        tensorflow_version(write(tmp_path / "tensorflow.txt", "numpy==2.4.6\n"))


@pytest.mark.parametrize("text", ["other\n", "old\nold\n"], ids=["absent", "twice"])
def test_a_source_that_is_not_as_known_is_not_patched(tmp_path: Path, text: str) -> None:
    source = write(tmp_path / "context.cc", text)

    with pytest.raises(StepError, match=r"context\.cc"):
        replace_once(source, "old", "new")

    assert source.read_text() == text


def test_package_clients_keep_their_settings_and_nothing_else_of_the_caller() -> None:
    environment = clean_environment(
        {
            "PYTHONPATH": "/tmp/mine",
            "PYENV_ROOT": "/root/.pyenv",
            "PATH": "/root/.pyenv/shims",
            "HOME": "/root",
            "PIP_INDEX_URL": "file:///wheels",
            "https_proxy": "http://proxy:3128",
            "SSL_CERT_FILE": "/etc/ca.pem",
        },
        MAKEFLAGS="-j2",
    )

    assert environment["PIP_INDEX_URL"] == "file:///wheels"
    assert environment["https_proxy"] == "http://proxy:3128"
    assert environment["SSL_CERT_FILE"] == "/etc/ca.pem"
    assert environment["MAKEFLAGS"] == "-j2"
    assert "pyenv" not in environment["PATH"]
    assert {"PYTHONPATH", "PYENV_ROOT"} & set(environment) == set()
