"""Locks, and what of the caller reaches the package clients."""

import io
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from deploy.common.errors import DeployError
from deploy.environments.builder import process
from deploy.environments.builder.environment import PINS_FILE, install_environment
from deploy.environments.builder.horovod_build import tensorflow_version
from deploy.environments.builder.horovod_source import replace_once
from deploy.environments.builder.package_sources import ORDINARY_INDEX, SETTING, package_sources
from deploy.environments.builder.plan import Flavour, Plan
from deploy.environments.builder.process import clean_environment
from deploy.environments.builder.uv import (
    locked,
    read_pins,
    read_toml,
    uv_program,
    uv_requirement,
    without,
)
from tests.suites import PREFIX

# For glibc 2.31 at the newest; Debian 12 has 2.36.
OLD_WHEEL = re.compile(r"-any\.whl$|manylinux(1|2010|2014|_2_[12]?\d|_2_3[01])_x86_64")
PROJECTS = sorted(lock.parent for lock in Plan().recipes_dir.glob("**/uv.lock"))
GROUPS = read_toml(Plan().recipes_dir / "pyproject.toml")["dependency-groups"]


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def pins(name: str, *, flavour: Flavour = Flavour.GPU) -> dict[str, str]:
    """The locked versions of an environment, the newest where Pythons have several."""
    return read_pins(locked(Plan(prefix=PREFIX, flavour=flavour), name))


def test_pins_are_read_whatever_the_spelling_of_their_names() -> None:
    text = (
        "# head\nJupyter_Server==2.21.1\n\ntensorflow[and-cuda]==2.21.0 ; sys_platform == 'linux'\n"
    )

    assert read_pins(text) == {"jupyter-server": "2.21.1", "tensorflow": "2.21.0"}


def test_a_package_is_left_out_with_its_hashes() -> None:
    kept = f"six==1.17.0 \\\n    --hash=sha256:{64 * '0'}\n"
    dropped = f"torch===2.13.0+cpu \\\n    --hash=sha256:{64 * '1'}\n"

    assert without(dropped + kept, {"torch"}) == kept
    assert read_pins(dropped) == {"torch": "2.13.0+cpu"}


def test_uv_is_installed_by_the_hashes_of_the_lock() -> None:
    line = uv_requirement(Plan())

    assert line.startswith("uv==")
    assert line.count(" --hash=sha256:") >= 1


def test_what_the_lock_does_not_have_is_refused_before_anything_is_installed(
    tmp_path: Path,
) -> None:
    plan = Plan(prefix=tmp_path / "prefix")

    with pytest.raises(DeployError, match=r"uv\.lock has nothing for hub"):
        install_environment(plan, "hub", io.StringIO())

    assert not plan.prefix.exists()


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_a_lock_is_of_its_pyproject(project: Path) -> None:
    """Run "uv lock" in the project after a change of its pyproject.toml."""
    words = ("lock", "--check", "--offline", "--directory", str(project))
    uv = uv_program(Plan(prefix=PREFIX))
    env = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "UV_NO_CACHE": "1"}

    done = subprocess.run([uv, *words], env=env, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_a_lock_names_files_of_the_ordinary_index_alone_and_their_hashes(project: Path) -> None:
    for package in read_toml(project / "uv.lock")["package"]:
        if package["source"] == {"virtual": "."}:
            continue
        assert package["source"] == {"registry": ORDINARY_INDEX}
        for file in (*package.get("wheels", ()), package.get("sdist")):
            if file:
                assert file["url"].startswith("https://files.pythonhosted.org/"), file
                assert file["hash"].startswith("sha256:"), file


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_the_c_library_of_the_oldest_debian_is_new_enough_for_a_wheel_of_each_package(
    project: Path,
) -> None:
    """Those that have no wheel at all are pure Python, or compiled here as Horovod is."""
    packages = read_toml(project / "uv.lock")["package"]
    wheels = {one["name"]: [w["url"] for w in one.get("wheels", ())] for one in packages}

    assert [n for n, urls in wheels.items() if urls and not any(map(OLD_WHEEL.search, urls))] == []


def test_hub_and_sessions_speak_the_same_jupyterhub() -> None:
    versions = [pins(name) for name in ("hub", "server", "test")]

    for package in ("jupyterhub", "tornado", "traitlets"):
        assert len({of_one[package] for of_one in versions}) == 1, package


def test_pytorch_for_gpus_brings_its_cuda_libraries() -> None:
    assert {"nvidia-cudnn-cu13", "nvidia-nccl-cu13", "nvidia-cublas", "triton"} <= set(
        pins("pytorch")
    )


def test_a_kernel_of_a_framework_has_what_everybody_expects() -> None:
    for flavour in Flavour:
        assert {*GROUPS["notebook"]} <= pins("tensorflow", flavour=flavour).keys()
    expected = {*GROUPS["notebook"], "torchvision", "transformers", "tokenizers"}
    assert expected <= pins("pytorch").keys()


def test_the_widgets_of_the_kernels_are_those_that_jupyterlab_shows() -> None:
    shown = pins("server")["jupyterlab-widgets"]

    assert {pins(name)["jupyterlab-widgets"] for name in ("tensorflow", "pytorch")} == {shown}


def test_no_lock_of_npm_names_a_registry() -> None:
    for lock in Plan().recipes_dir.glob("*/package-lock.json"):
        packages = json.loads(lock.read_text())["packages"]
        assert [key for key, package in packages.items() if "resolved" in package] == []


@pytest.mark.parametrize("package", ["tensorflow-cpu", "tensorflow"])
def test_the_tensorflow_version_is_found_for_either_package(tmp_path: Path, package: str) -> None:
    plan = Plan(prefix=tmp_path)
    plan.environment("tensorflow").mkdir(parents=True)
    write(plan.environment("tensorflow") / PINS_FILE, f"{package}==2.15.1\n")

    assert tensorflow_version(plan) == "2.15.1"


def test_a_tensorflow_environment_without_tensorflow_is_refused(tmp_path: Path) -> None:
    plan = Plan(prefix=tmp_path)
    with pytest.raises(DeployError, match="missing"):
        tensorflow_version(plan)

    plan.environment("tensorflow").mkdir(parents=True)
    write(plan.environment("tensorflow") / PINS_FILE, "numpy==2.4.6\n")
    with pytest.raises(DeployError, match="neither tensorflow nor tensorflow-cpu"):
        tensorflow_version(plan)


@pytest.mark.parametrize("text", ["other\n", "old\nold\n"], ids=["absent", "twice"])
def test_a_source_that_is_not_as_known_is_not_patched(tmp_path: Path, text: str) -> None:
    source = write(tmp_path / "context.cc", text)

    with pytest.raises(DeployError, match=r"context\.cc"):
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
    with pytest.raises(DeployError, match="/no/wheels") as caught:
        package_sources({SETTING: "https://pypi.org/simple /no/wheels"})

    assert ORDINARY_INDEX in caught.value.next_step
