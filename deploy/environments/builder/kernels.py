"""The kernels that every session offers: Python 3, TensorFlow, PyTorch and R."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import IO, Any

from deploy.environments.builder.debian import ensure_packages
from deploy.environments.builder.environment import installed_pins
from deploy.environments.builder.horovod_build import tensorflow_version
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.process import SYSTEM_PATH, clean_environment, run

R_PACKAGES = (
    *("r-base-core", "r-cran-irkernel"),
    # What notebooks expect. Compute nodes have no compiler to install them with.
    *("r-cran-ggplot2", "r-cran-dplyr", "r-cran-data.table"),
)
PYTHON3_NAME = "python3"
NAMES = ("tensorflow", "pytorch")
R_NAME = "ir"
MXNET_NAME = "mxnet"
# Letters and colour of the logos, as on templates' cards in labextension_src/src/base/icon.ts:
# all of these kernels are Python, whose logo would not tell them apart.
_TILES = {
    "tensorflow": ("TF", "#b75500"),
    "pytorch": ("PT", "#d84315"),
    MXNET_NAME: ("MX", "#00695c"),
}
# Below the server's environment, where every node reads it.
_START = "library/dsportal/start/kernel.py"
R_START = Path("portal/environments/r_start.sh")
# R's own folder for what its user installs, which R leaves out until somebody makes it. A package
# in it that keeps the kernel from starting is named in the session's log.
_START_R = (
    "local({ own <- strsplit(Sys.getenv('R_LIBS_USER'), ':', fixed = TRUE)[[1]]; "
    "if (Sys.getenv('PORTAL_PACKAGES') == 'off') { "
    ".libPaths(setdiff(.libPaths(), normalizePath(own, mustWork = FALSE))) "
    "} else if (length(own)) { "
    "dir.create(own[1], showWarnings = FALSE, recursive = TRUE); "
    ".libPaths(c(own[1], .libPaths())) }; "
    "tryCatch(loadNamespace('IRkernel'), error = function(e) stop('The R kernel does not start "
    "with your packages in ', own[1], ': ', conditionMessage(e), ' Move that folder away.')) }); "
    "IRkernel::main()"
)


def spec_dir(plan: Plan, name: str) -> Path:
    """Return the folder of one kernel's spec, which need not exist.

    `name` is PYTHON3_NAME, one of NAMES, R_NAME or MXNET_NAME.
    """
    return plan.environment("server") / "share/jupyter/kernels" / name


def python_spec(
    env_dir: Path, display_name: str, start: Path, *, name: str, release: str, **env: str
) -> dict[str, Any]:
    """Return the kernel.json of a Python kernel that starts with the user's own packages.

    `env_dir` needs ipykernel and `dsportal`. `start` is the program of the kernel, and `env` sets
    variables of its process. A user's own packages for the kernel have to fit `release`, such as
    "2.21-py3.11".

    Source:
        https://jupyter-client.readthedocs.io/en/stable/kernels.html#kernel-specs
    """
    return {
        "argv": [
            f"{env_dir}/bin/python",
            # -I: a module in the notebook's folder must not replace one of these.
            *("-I", "-m", "dsportal.packages.start", name, release, "--"),
            # The debugger cannot stop in frozen modules; ipykernel's own spec has this, too.
            "-Xfrozen_modules=off",
            str(start),
            "-f",
            "{connection_file}",
        ],
        "display_name": display_name,
        "language": "python",
        "metadata": {"debugger": True, "packages_release": release},
        "env": env,
    }


def r_spec(spec: dict[str, Any], start: str) -> dict[str, Any]:
    """Return the kernel.json of an R kernel that reads nothing from the notebook's folder.

    Args:
        spec: The kernel.json that IRkernel has written.
        start: Program text that bash runs before R.
    """
    program, *arguments = spec["argv"]
    bash = ["/bin/bash", "--noprofile", "--norc", "-c", start, "dsportal"]
    # A saved workspace may hold functions that R calls when it starts.
    return {**spec, "argv": [*bash, program, "--no-restore", *arguments]}


def install_kernels(plan: Plan, log: IO[str]) -> None:
    """Add the frameworks' kernels to the server environment."""
    _write_spec(plan, "tensorflow", _tensorflow_spec(plan))
    _write_spec(plan, "pytorch", _pytorch_spec(plan))
    print("described", *NAMES, file=log)


def install_python3(plan: Plan, log: IO[str]) -> None:
    """Add the server environment's own Python as a kernel."""
    release = plan.python_release
    env_dir = plan.environment("server")
    spec = python_spec(env_dir, "Python 3", _start(plan), name=PYTHON3_NAME, release=release)
    _write_spec(plan, PYTHON3_NAME, spec)
    print("described", PYTHON3_NAME, file=log)


def install_r(plan: Plan, log: IO[str]) -> None:
    """Install R with its kernel from Debian, and add it to the server environment."""
    ensure_packages(R_PACKAGES, log)
    prefix = plan.environment("server")
    install = f"IRkernel::installspec(name='ir', displayname='R', prefix='{prefix}')"
    env = clean_environment(PATH=f"{prefix}/bin:{SYSTEM_PATH}")
    run(["Rscript", "-e", install], log=log, env=env)
    described = spec_dir(plan, R_NAME) / "kernel.json"
    spec = r_spec(json.loads(described.read_text()), (plan.source_dir / R_START).read_text("utf-8"))
    spec["argv"] = [_START_R if word == "IRkernel::main()" else word for word in spec["argv"]]
    described.write_text(json.dumps(spec, indent=1) + "\n")


def install_mxnet(plan: Plan) -> None:
    """Add the kernel of the optional MXNet environment to the server environment."""
    env_dir = plan.environment(MXNET_NAME)
    version = installed_pins(plan, MXNET_NAME)["mxnet"]
    release = f"{version}-py{plan.python_release}"
    name = f"MXNet {version}"
    spec = python_spec(env_dir, name, _start(plan), name=MXNET_NAME, release=release)
    _write_spec(plan, MXNET_NAME, spec)


def _start(plan: Plan) -> Path:
    return plan.environment("server") / _START


def _tensorflow_spec(plan: Plan) -> dict[str, Any]:
    env_dir = plan.environment("tensorflow")
    release = ".".join(tensorflow_version(plan).split(".")[:2])
    # Its own bin first, so that "!horovodrun" in a cell is the one of this kernel.
    path = f"{env_dir}/bin:${{PATH}}"
    return python_spec(
        env_dir,
        f"TensorFlow {release}",
        _start(plan),
        name="tensorflow",
        release=f"{release}-py{plan.python_release}",
        PATH=path,
        TF_CPP_MIN_LOG_LEVEL="1",
    )


def _pytorch_spec(plan: Plan) -> dict[str, Any]:
    env_dir = plan.environment("pytorch")
    release = ".".join(installed_pins(plan, "pytorch")["torch"].split(".")[:2])
    # Its own bin first, so that "!torchrun" in a cell is the one of this kernel.
    path = f"{env_dir}/bin:${{PATH}}"
    return python_spec(
        env_dir,
        f"PyTorch {release}",
        _start(plan),
        name="pytorch",
        release=f"{release}-py{plan.python_release}",
        PATH=path,
        # Keras would take TensorFlow, which this environment does not have.
        KERAS_BACKEND="torch",
    )


def _write_spec(plan: Plan, name: str, spec: dict[str, Any]) -> None:
    folder = spec_dir(plan, name)
    shutil.rmtree(folder, ignore_errors=True)
    if name in _TILES:
        folder.mkdir(parents=True)
        (folder / "logo-svg.svg").write_text(_tile(*_TILES[name]))
    else:
        shutil.copytree(_logos_dir(plan), folder, ignore=shutil.ignore_patterns("*.json"))
    (folder / "kernel.json").write_text(json.dumps(spec, indent=1) + "\n")


def _tile(letters: str, colour: str) -> str:
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24">'
        f'<rect x="2" y="2" width="20" height="20" rx="4" fill="{colour}"/>'
        '<text x="12" y="16" text-anchor="middle" font-family="sans-serif" font-weight="700" '
        f'font-size="11" fill="#fff">{letters}</text></svg>\n'
    )


def _logos_dir(plan: Plan) -> Path:
    found = plan.environment("server").glob("lib/python3*/site-packages/ipykernel/resources")
    return next(iter(found))
