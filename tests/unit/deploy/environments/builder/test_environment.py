"""Locks, and what of the caller reaches the package clients."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from deploy.environments.builder import process
from deploy.environments.builder.environment import install_uv, read_pins
from deploy.environments.builder.errors import BuildError
from deploy.environments.builder.horovod_build import tensorflow_version
from deploy.environments.builder.horovod_source import replace_once
from deploy.environments.builder.package_sources import ORDINARY_INDEX, SETTING, package_sources
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.process import clean_environment
from deploy.environments.builder.uv import canonical_name

RECIPES_DIR = Plan().recipes_dir
LOCKS = sorted(RECIPES_DIR.glob("locks/*/*.txt"))
PYTHONS = sorted({path.parent.name for path in LOCKS})
HASH = "--hash=sha256:" + 64 * "0"


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_pins_are_read_whatever_the_spelling_of_their_names(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.txt", "# head\nJupyter_Server==2.21.1\n\ntensorflow[and-cuda]==2.21.0\n"
    )

    assert read_pins(path) == {"jupyter-server": "2.21.1", "tensorflow": "2.21.0"}


def test_hashes_are_no_part_of_a_version(tmp_path: Path) -> None:
    lines = f"torch===2.13.0+cpu \\\n    {HASH} \\\n    {HASH}\nsix==1.17.0 {HASH}\n"

    assert read_pins(write(tmp_path / "a.txt", lines)) == {"torch": "2.13.0+cpu", "six": "1.17.0"}


@pytest.mark.parametrize("line", ["numpy", "numpy>=2", "numpy==2 ; python_version<'3'", "-r a.txt"])
def test_a_line_that_is_no_pin_is_named_with_the_next_step(tmp_path: Path, line: str) -> None:
    path = tmp_path / "locks/3.11/server.txt"
    path.parent.mkdir(parents=True)
    write(path, f"{line}\n")

    with pytest.raises(BuildError) as caught:
        read_pins(path)

    assert line in caught.value.what
    assert "server.in" in caught.value.next_step


def test_a_missing_lock_is_named_with_the_pythons_that_have_one(tmp_path: Path) -> None:
    (tmp_path / "locks/3.11").mkdir(parents=True)
    write(tmp_path / "locks/3.11/hub.txt", "")

    with pytest.raises(BuildError, match=r"hub\.txt is missing") as caught:
        read_pins(tmp_path / "locks/3.9/hub.txt")

    assert "have locks: 3.11." in caught.value.next_step


def test_a_python_without_locks_is_refused_before_anything_is_installed(tmp_path: Path) -> None:
    plan = Plan(prefix=tmp_path / "prefix", source_dir=tmp_path)
    (plan.recipes_dir / "locks/3.1").mkdir(parents=True)
    write(plan.recipes_dir / "locks/3.1/uv.txt", "uv==0.13.9\n")

    with pytest.raises(BuildError, match=r"uv\.txt is missing") as caught:
        install_uv(plan, io.StringIO())

    assert "have locks: 3.1." in caught.value.next_step
    assert not plan.prefix.exists()


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_lock_fixes_all_that_was_asked_for(path: Path) -> None:
    pins = read_pins(path)
    lines = (RECIPES_DIR / f"{path.stem}.in").read_text().splitlines()
    asked = [line for line in lines if line and line[0] not in "#-"]
    exact = {
        canonical_name(a.partition("==")[0].partition("[")[0]): a.partition("==")[2] for a in asked
    }

    assert set(exact) <= set(pins)
    assert {name: pins[name] for name, version in exact.items() if version} == {
        name: version for name, version in exact.items() if version
    }


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_lock_has_a_hash_for_each_package(path: Path) -> None:
    text = path.read_text().replace("\\\n", "")
    requirements = [line for line in text.splitlines() if not line.startswith("#")]

    assert requirements
    assert [line for line in requirements if "--hash=sha256:" not in line] == []


@pytest.mark.parametrize("python", PYTHONS)
def test_hub_and_sessions_speak_the_same_jupyterhub(python: str) -> None:
    names = ("hub", "server", "test")
    versions = [read_pins(RECIPES_DIR / "locks" / python / f"{name}.txt") for name in names]

    for package in ("jupyterhub", "tornado", "traitlets"):
        assert len({pins[package] for pins in versions}) == 1, package


def test_pytorch_for_gpus_brings_its_cuda_libraries() -> None:
    pins = read_pins(RECIPES_DIR / "locks/3.11/pytorch-gpu.txt")

    assert {"nvidia-cudnn-cu13", "nvidia-nccl-cu13", "nvidia-cublas", "triton"} <= set(pins)


def test_a_kernel_of_a_framework_has_what_everybody_expects() -> None:
    lines = (RECIPES_DIR / "notebook.in").read_text().splitlines()
    expected = {line for line in lines if line[0] != "#"}

    for lock in LOCKS:
        if lock.stem.startswith(("tensorflow-", "pytorch-")):
            assert expected <= set(read_pins(lock)), lock
        if lock.stem.startswith("pytorch-"):
            assert {"torchvision", "transformers", "tokenizers"} <= set(read_pins(lock)), lock


def test_the_widgets_of_the_kernels_are_those_that_jupyterlab_shows() -> None:
    for python in PYTHONS:
        of_server = read_pins(RECIPES_DIR / "locks" / python / "server.txt")
        for name in ("tensorflow-cpu", "tensorflow-gpu", "pytorch-gpu"):
            pins = read_pins(RECIPES_DIR / "locks" / python / f"{name}.txt")
            assert pins["jupyterlab-widgets"] == of_server["jupyterlab-widgets"]


def test_no_lock_names_a_registry() -> None:
    files = [*RECIPES_DIR.glob("*.in"), *RECIPES_DIR.glob("*.txt"), *LOCKS]
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
    with pytest.raises(BuildError, match="neither tensorflow nor tensorflow-cpu"):
        tensorflow_version(write(tmp_path / "tensorflow.txt", "numpy==2.4.6\n"))


@pytest.mark.parametrize("text", ["other\n", "old\nold\n"], ids=["absent", "twice"])
def test_a_source_that_is_not_as_known_is_not_patched(tmp_path: Path, text: str) -> None:
    source = write(tmp_path / "context.cc", text)

    with pytest.raises(BuildError, match=r"context\.cc"):
        replace_once(source, "old", "new")

    assert source.read_text() == text


def test_package_clients_reach_the_registries_and_get_nothing_else_of_the_caller() -> None:
    environment = clean_environment(
        {
            "PYTHONPATH": "/tmp/mine",
            "PYENV_ROOT": "/root/.pyenv",
            "PATH": "/root/.pyenv/shims",
            "HOME": "/root",
            "PIP_PROXY": "http://proxy:3128",
            "https_proxy": "http://proxy:3128",
            "SSL_CERT_FILE": "/etc/ca.pem",
        },
        MAKEFLAGS="-j2",
    )

    assert environment["PIP_PROXY"] == "http://proxy:3128"
    assert environment["https_proxy"] == "http://proxy:3128"
    assert environment["SSL_CERT_FILE"] == "/etc/ca.pem"
    assert environment["MAKEFLAGS"] == "-j2"
    assert "pyenv" not in environment["PATH"]
    assert {"PYTHONPATH", "PYENV_ROOT"} & set(environment) == set()


def test_npm_trusts_the_authorities_that_pip_and_uv_trust(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, system = write(tmp_path / "own.pem", ""), write(tmp_path / "system.crt", "")
    monkeypatch.setattr(process, "SYSTEM_AUTHORITIES", (tmp_path / "missing.crt", system))

    def trusted(**environ: str) -> str:
        return clean_environment(environ)["NODE_EXTRA_CA_CERTS"]

    assert trusted() == str(system)
    assert trusted(SSL_CERT_FILE=str(own)) == str(own)
    assert trusted(SSL_CERT_FILE=str(own), NODE_EXTRA_CA_CERTS="/etc/npm.pem") == "/etc/npm.pem"


def test_no_setting_of_pip_or_uv_chooses_other_packages() -> None:
    names = (
        *("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_CONFIG_FILE"),
        *("UV_DEFAULT_INDEX", "UV_INDEX", "UV_FIND_LINKS", "UV_CONFIG_FILE"),
    )

    environment = clean_environment(dict.fromkeys(names, "/srv/theirs"))

    assert "/srv/theirs" not in environment.values()
    assert environment["PIP_INDEX_URL"] == environment["UV_DEFAULT_INDEX"] == ORDINARY_INDEX
    assert environment["PIP_CONFIG_FILE"] == "/dev/null"


def test_a_site_names_its_mirror_and_its_wheels(tmp_path: Path) -> None:
    environ = {SETTING: f"https://a.example/simple https://b.example/simple {tmp_path}"}

    environment = clean_environment(environ)

    assert environment["UV_DEFAULT_INDEX"] == "https://a.example/simple"
    assert environment["UV_INDEX"] == "https://b.example/simple"
    assert environment["PIP_FIND_LINKS"] == str(tmp_path)
    assert package_sources(environ).uv_options == ("--find-links", str(tmp_path))
    # For the programs that this one starts.
    assert clean_environment(environment) == environment


def test_with_folders_alone_nothing_is_asked_of_an_index(tmp_path: Path) -> None:
    environ = {SETTING: str(tmp_path)}

    assert package_sources(environ).uv_options[0] == "--no-index"
    assert clean_environment(environ)["PIP_NO_INDEX"] == "1"
    assert "PIP_INDEX_URL" not in clean_environment(environ)


def test_a_folder_that_is_not_there_is_named_with_the_form_of_the_setting() -> None:
    with pytest.raises(BuildError, match="/no/wheels") as caught:
        package_sources({SETTING: "https://pypi.org/simple /no/wheels"})

    assert ORDINARY_INDEX in caught.value.next_step
