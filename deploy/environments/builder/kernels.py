"""The kernels that every session offers: Python 3, TensorFlow, PyTorch and R."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import IO, Any

from deploy.environments.builder.debian import ensure_packages
from deploy.environments.builder.environment import read_pins
from deploy.environments.builder.horovod import tensorflow_version
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.process import SYSTEM_PATH, clean_environment, run

R_PACKAGES = ("r-base-core", "r-cran-irkernel")
NAMES = ("python3", "tensorflow", "pytorch")
R_NAME = "ir"
MXNET_NAME = "mxnet"


def spec_dir(plan: Plan, name: str) -> Path:
    """Return the folder of one kernel's description.

    Args:
        plan: Folders and choices.
        name: One of NAMES, R_NAME or MXNET_NAME.

    Returns:
        The folder, whether it exists or not.
    """
    return plan.environment("server") / "share/jupyter/kernels" / name


def python_spec(env_dir: Path, display_name: str, **env: str) -> dict[str, Any]:
    """Return the description of a Python kernel.

    Args:
        env_dir: Environment that holds ipykernel.
        display_name: What the launcher shows.
        env: Variables of the kernel's process.

    Returns:
        The content of its kernel.json.

    Source:
        https://jupyter-client.readthedocs.io/en/stable/kernels.html#kernel-specs
    """
    return {
        "argv": [
            f"{env_dir}/bin/python",
            "-Xfrozen_modules=off",
            "-m",
            "ipykernel_launcher",
            "-f",
            "{connection_file}",
        ],
        "display_name": display_name,
        "language": "python",
        "metadata": {"debugger": True},
        "env": env,
    }


def install_kernels(plan: Plan, log: IO[str]) -> None:
    """Describe the Python kernels to the server environment.

    Args:
        plan: Folders and choices.
        log: Open log file.
    """
    _write_spec(plan, "python3", python_spec(plan.environment("server"), "Python 3"))
    _write_spec(plan, "tensorflow", _tensorflow_spec(plan))
    _write_spec(plan, "pytorch", _pytorch_spec(plan))
    print("described", *NAMES, file=log)


def install_r(plan: Plan, log: IO[str]) -> None:
    """Install R with its kernel from Debian, and describe it to the server environment.

    Args:
        plan: Folders and choices.
        log: Open log file.

    Raises:
        StepError: If R or its kernel cannot be installed.
    """
    ensure_packages(R_PACKAGES, log)
    prefix = plan.environment("server")
    install = f"IRkernel::installspec(name='ir', displayname='R', prefix='{prefix}')"
    env = clean_environment(PATH=f"{prefix}/bin:{SYSTEM_PATH}")
    run(["Rscript", "-e", install], log=log, env=env)


def install_mxnet(plan: Plan) -> None:
    """Describe the kernel of the optional MXNet environment to the server environment.

    Args:
        plan: Folders and choices.
    """
    env_dir = plan.environment(MXNET_NAME)
    version = read_pins(plan.pins(MXNET_NAME)).get("mxnet", "")
    _write_spec(plan, MXNET_NAME, python_spec(env_dir, f"MXNet {version}".strip()))


def _tensorflow_spec(plan: Plan) -> dict[str, Any]:
    env_dir = plan.environment("tensorflow")
    release = ".".join(tensorflow_version(plan.pins("tensorflow")).split(".")[:2])
    # Its own bin first, so that "!horovodrun" in a cell is the one of this kernel.
    path = f"{env_dir}/bin:${{PATH}}"
    return python_spec(env_dir, f"TensorFlow {release}", PATH=path, TF_CPP_MIN_LOG_LEVEL="1")


def _pytorch_spec(plan: Plan) -> dict[str, Any]:
    env_dir = plan.environment("pytorch")
    version = read_pins(plan.pins("pytorch")).get("torch", "")
    release = ".".join(version.split(".")[:2])
    # Its own bin first, so that "!torchrun" in a cell is the one of this kernel.
    path = f"{env_dir}/bin:${{PATH}}"
    return python_spec(env_dir, f"PyTorch {release}".strip(), PATH=path, KERAS_BACKEND="torch")


def _write_spec(plan: Plan, name: str, spec: dict[str, Any]) -> None:
    folder = spec_dir(plan, name)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(_logos_dir(plan), folder, ignore=shutil.ignore_patterns("*.json"))
    (folder / "kernel.json").write_text(json.dumps(spec, indent=1) + "\n")


def _logos_dir(plan: Plan) -> Path:
    found = plan.environment("server").glob("lib/python3*/site-packages/ipykernel/resources")
    return next(iter(found))
