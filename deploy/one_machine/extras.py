"""What deploy/up adds to the portal, so that the demo has what many sites have."""

import os
import platform
import tempfile
from collections.abc import Sequence
from pathlib import Path

from deploy.common.command import run
from deploy.common.errors import DeployError
from deploy.common.files import (
    ensure_file,
    ensure_folder,
    ensure_link,
    read_plain,
    remove_link,
)
from deploy.environments.builder.package_sources import package_sources
from deploy.one_machine.layout import MARK, PREFIX_DIR
from deploy.one_machine.packages import missing_packages
from deploy.one_machine.portal import COMMAND_PROGRAM
from deploy.one_machine.steps import Step

MODULES_PACKAGE = "environment-modules"
MODULES_DIR = Path("/etc/environment-modules/modules")
# The kernels that are offered as modules, and what their processes need to know.
MODULES = {
    "pytorch": ("PyTorch of the portal", {"KERAS_BACKEND": "torch"}),
    "tensorflow": ("TensorFlow of the portal", {}),
}
APPTAINER = Path("/opt/apptainer/bin/apptainer")
APPTAINER_LINK = Path("/usr/local/bin/apptainer")
IMAGE = PREFIX_DIR / "images" / "debian-python.sif"
# Since Debian 13 the links /bin and /lib64 are those of base-files.
IMAGE_PACKAGES = ("base-files", "python3", "dash", "coreutils", "libstdc++6")
IMAGE_TIMEOUT_S = 600
# What deploy/up can add, and the targets of the environments' builder that it needs.
EXTRAS = {
    "modules": (),
    "code-server": ("code-server",),
    "mlflow": ("mlflow",),
    "apptainer": ("apptainer",),
    "netron": ("netron",),
    "xprof": ("xprof",),
}
# Those that it adds unless it is told not to.
BY_DEFAULT = ("modules", "code-server", "mlflow")


def wanted_extras(added: Sequence[str], left_out: Sequence[str]) -> tuple[str, ...]:
    """Return the extras by default, with those `added` and without those `left_out`."""
    return tuple(name for name in EXTRAS if name in {*BY_DEFAULT, *added} - set(left_out))


def build_targets(extras: Sequence[str]) -> tuple[str, ...]:
    """Return the targets of the environments' builder that the extras need."""
    return tuple(target for extra in EXTRAS if extra in extras for target in EXTRAS[extra])


def debian_packages(extras: Sequence[str]) -> tuple[str, ...]:
    """Return the packages of Debian that the extras need; one that would remove Lmod is none."""
    has_modules = "modules" in extras and missing_packages(["lmod"])
    of_image = ("mmdebstrap",) if "apptainer" in extras else ()
    return (*((MODULES_PACKAGE,) if has_modules else ()), *of_image)


def steps_extra(extras: Sequence[str]) -> list[Step]:
    """Return the steps of the extras; the environments must be built."""
    steps = [
        Step(name="modules", title="Environment modules", do=ensure_modules),
        Step(name="apptainer", title="Apptainer image", do=ensure_image),
    ]
    return [step for step in steps if step.name in extras]


def render_modulefile(name: str) -> str:
    """Return the modulefile of a kernel's environment.

    Source:
        modulefile(4), Environment Modules 5.2.
    """
    title, variables = MODULES[name]
    others = " ".join(other for other in MODULES if other != name)
    lines = [
        "#%Module",
        f"# {MARK}",
        f'module-whatis "{title}: python, pip and the programs of its environment"',
        f"conflict {others}",
        f"prepend-path PATH {PREFIX_DIR}/environments/{name}/bin",
        *(f"setenv {variable} {value}" for variable, value in variables.items()),
    ]
    return "\n".join(lines) + "\n"


def ensure_modules() -> str:
    """Offer the frameworks as modules."""
    if not debian_packages(["modules"]):
        return f"left out: this machine has Lmod, which {MODULES_PACKAGE} would remove"
    ensure_folder(MODULES_DIR)
    is_new = [ensure_file(MODULES_DIR / name, render_modulefile(name)) for name in MODULES]
    return f"written to {MODULES_DIR}" if any(is_new) else "unchanged"


def ensure_image() -> str:
    """Make an image of this machine's Debian with Python, and offer it to everybody as a kernel."""
    ensure_link(APPTAINER_LINK, APPTAINER)
    if IMAGE.exists():
        return "unchanged"
    ensure_folder(IMAGE.parent)
    release = platform.freedesktop_os_release()["VERSION_CODENAME"]
    with tempfile.TemporaryDirectory(prefix="image-") as folder:
        root = Path(folder) / "root"
        include = f"--include={','.join(IMAGE_PACKAGES)}"
        made = ("mmdebstrap", "--variant=extract", include, release, root)
        run(made, timeout_s=IMAGE_TIMEOUT_S)
        run([APPTAINER, "build", "--force", IMAGE, root], timeout_s=IMAGE_TIMEOUT_S)
    IMAGE.chmod(0o644)
    add = ("environments", "add", IMAGE.stem, "--site", "--image", IMAGE)
    try:
        run(
            [COMMAND_PROGRAM, *add, "--name", "Python 3 (Debian image)"],
            # Root of a container may not hand on all rights.
            environment={**package_sources(os.environ).variables(), "APPTAINER_NO_PRIVS": "1"},
            timeout_s=IMAGE_TIMEOUT_S,
        )
    except DeployError:
        # An image that is there counts as offered.
        IMAGE.unlink()
        raise
    return f"{IMAGE}, a kernel for everybody"


def remove_extras() -> None:
    """Remove the modulefiles and the link to Apptainer; packages and programs stay."""
    for name in MODULES:
        if MARK in (read_plain(MODULES_DIR / name) or ""):
            (MODULES_DIR / name).unlink()
    remove_link(APPTAINER_LINK, APPTAINER)
