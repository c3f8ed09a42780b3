"""The kernels that sessions offer: those of Python, and R."""

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from deploy.common.errors import DeployError
from deploy.environments.builder.debian import ensure_packages
from deploy.environments.builder.environment import installed_pins
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.process import SYSTEM_PATH, clean_environment, run
from deploy.environments.builder.uv import read_toml

R_PACKAGES = (
    *("r-base-core", "r-cran-irkernel"),
    # What notebooks expect. Compute nodes have no compiler to install them with.
    *("r-cran-ggplot2", "r-cran-dplyr", "r-cran-data.table"),
)
R_NAME = "ir"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A Python kernel of the portal.

    Attributes:
        title: Its name for people, with the version of its package in place of the braces.
        packages: Of these one is installed; none for Python itself.
        tile: Letters and colour of the logo, as on templates' cards in
            labextension_src/src/base/icon.ts: all of these kernels are Python, whose logo would not
            tell them apart. Without one it is Python's.
    """

    environment: str
    title: str
    packages: tuple[str, ...] = ()
    tile: tuple[str, str] | None = None
    variables: Mapping[str, str] = field(default_factory=dict)


def _of_own_lock() -> Iterator[tuple[str, Kernel]]:
    """Yield the kernels that have a folder with a lock of their own, which describes them."""
    for project in sorted(Plan().recipes_dir.glob("*/pyproject.toml")):
        told, name = read_toml(project)["tool"]["kernel"], project.parent.name
        tile, packages = (told["letters"], told["colour"]), (told["package"],)
        yield name, Kernel(environment=name, title=told["title"], packages=packages, tile=tile)


OF_OWN_LOCK = dict(_of_own_lock())
KERNELS: Mapping[str, Kernel] = {
    "python3": Kernel(environment="server", title="Python 3"),
    "tensorflow": Kernel(
        environment="tensorflow",
        title="TensorFlow {}",
        packages=("tensorflow", "tensorflow-cpu"),
        tile=("TF", "#b75500"),
        variables={"TF_CPP_MIN_LOG_LEVEL": "1"},
    ),
    "pytorch": Kernel(
        environment="pytorch",
        title="PyTorch {}",
        packages=("torch",),
        tile=("PT", "#d84315"),
        # Keras would take TensorFlow, which this environment does not have.
        variables={"KERAS_BACKEND": "torch"},
    ),
    **OF_OWN_LOCK,
}


def spec_dir(plan: Plan, name: str) -> Path:
    """Return the folder of one kernel's spec, which need not exist."""
    return plan.environment("server") / "share/jupyter/kernels" / name


def spec_file(plan: Plan, name: str) -> Path:
    """Return the file that describes a kernel, which need not exist."""
    return spec_dir(plan, name) / "kernel.json"


def install_kernels(plan: Plan, log: IO[str], *names: str) -> None:
    """Add Python kernels to the server environment."""
    for name in names:
        folder, tile = spec_dir(plan, name), KERNELS[name].tile
        shutil.rmtree(folder, ignore_errors=True)
        if tile:
            folder.mkdir(parents=True)
            (folder / "logo-svg.svg").write_text(_tile(*tile))
        else:
            shutil.copytree(_logos_dir(plan), folder, ignore=shutil.ignore_patterns("*.json"))
        spec_file(plan, name).write_text(json.dumps(python_spec(plan, name), indent=1) + "\n")
        print("described", name, file=log)


def python_spec(plan: Plan, name: str) -> dict[str, Any]:
    """Return the kernel.json of a Python kernel that starts with the user's own packages.

    Its environment needs ipykernel and `dsportal`. A user's own packages for it have to fit its
    release, such as "2.21-py3.11".

    Source:
        https://jupyter-client.readthedocs.io/en/stable/kernels.html#kernel-specs
    """
    kernel = KERNELS[name]
    env_dir, title, release = (
        plan.environment(kernel.environment),
        kernel.title,
        plan.python_release,
    )
    variables = dict(kernel.variables)
    if kernel.packages:
        version = _version(plan, kernel)
        title, release = kernel.title.format(version), f"{version}-py{release}"
        # Its own bin first, so that "!horovodrun" in a cell is the one of this kernel.
        variables["PATH"] = f"{env_dir}/bin:${{PATH}}"
    return {
        "argv": [
            f"{env_dir}/bin/python",
            # -I: a module in the notebook's folder must not replace one of these.
            *("-I", "-m", "dsportal.packages.start", name, release, "--"),
            # The debugger cannot stop in frozen modules; ipykernel's own spec has this, too.
            "-Xfrozen_modules=off",
            str(plan.environment("server") / _START),
            "-f",
            "{connection_file}",
        ],
        "display_name": title,
        "language": "python",
        "metadata": {"debugger": True, "packages_release": release},
        "env": variables,
    }


def _version(plan: Plan, kernel: Kernel) -> str:
    pins = installed_pins(plan, kernel.environment)
    found = [pins[package] for package in kernel.packages if package in pins]
    if not found:
        raise DeployError(
            f"{plan.environment(kernel.environment)} has no {' or '.join(kernel.packages)}.",
            f"Build the environment {kernel.environment}.",
        )
    return ".".join(found[0].split(".")[:2])


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


def install_r(plan: Plan, log: IO[str]) -> None:
    """Install R with its kernel from Debian, and add it to the server environment."""
    ensure_packages(R_PACKAGES, log)
    prefix = plan.environment("server")
    install = f"IRkernel::installspec(name='ir', displayname='R', prefix='{prefix}')"
    env = clean_environment(PATH=f"{prefix}/bin:{SYSTEM_PATH}")
    run(["Rscript", "-e", install], log=log, env=env)
    described = spec_file(plan, R_NAME)
    spec = r_spec(json.loads(described.read_text()), (plan.source_dir / R_START).read_text("utf-8"))
    spec["argv"] = [_START_R if word == "IRkernel::main()" else word for word in spec["argv"]]
    described.write_text(json.dumps(spec, indent=1) + "\n")


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
