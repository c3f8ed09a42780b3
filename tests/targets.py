"""What only the tests need on this machine: packages of Debian, and targets for the builder.

python3 -m tests.targets axe image
"""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import IO

from deploy.environments.builder import command, node, targets
from deploy.environments.builder.debian import ensure_packages
from deploy.environments.builder.files import replace_folder
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.process import run
from deploy.environments.builder.target import Target
from tests.container_image import PACKAGES, image_dir, make_image

# Recommended packages are not installed, and Chromium's fonts are among those.
BROWSER = ("chromium", "fonts-dejavu-core")
# Debian has no CPython 2 any more. Its two packages of modules exclude each other; Lmod's files are
# disjoint, so they are unpacked.
KERNELS = (
    *("docker-registry", "jython", "environment-modules"),
    *("lua5.3", "lua-posix", "lua-filesystem", "lua-term", "lua-json", "tcl"),
)
LMOD_DIR = Path("/opt/lmod")
LMOD_LINK = Path("/usr/share/lmod")


def axe_script(plan: Plan) -> Path:
    """Return the script of axe-core that browser tests inject into a page."""
    return plan.prefix / "axe/node_modules/axe-core/axe.min.js"


def labextension_sources(plan: Plan) -> Path:
    """Return the folder of the labextension's sources."""
    return plan.source_dir / "portal/server/labextension_src"


def labextension_modules(plan: Plan) -> Path:
    """Return the folder to link as node_modules into a copy of the labextension's sources."""
    return plan.prefix / "labextension/node_modules"


def _replace_modules(plan: Plan, recipe_dir: Path, folder: Path, log: IO[str]) -> None:
    staging = folder.with_name(f"{folder.name}.new")
    node.install_locked(plan, recipe_dir, staging, log)
    replace_folder(folder, staging)


def _unpack_lmod(_: Plan, log: IO[str]) -> None:
    ensure_packages(KERNELS, log)
    with tempfile.TemporaryDirectory(prefix="lmod-") as folder:
        run(["apt-get", "download", "lmod"], log=log, cwd=Path(folder))
        (package,) = Path(folder).glob("lmod_*.deb")
        shutil.rmtree(LMOD_DIR, ignore_errors=True)
        run(["dpkg", "-x", package, LMOD_DIR], log=log)
    LMOD_LINK.unlink(missing_ok=True)
    LMOD_LINK.symlink_to(LMOD_DIR / "usr/share/lmod")


TARGETS = (
    Target(
        name="axe",
        summary="installing axe-core for the browser tests",
        build=lambda plan, log: _replace_modules(
            plan, plan.recipes_dir / "axe", plan.prefix / "axe", log
        ),
        made_from=lambda plan: [plan.recipes_dir / "axe"],
        results=lambda plan: [axe_script(plan)],
        needs=("node",),
        code=("node",),
    ),
    Target(
        name="labextension",
        summary="installing what checks and builds the labextension",
        build=lambda plan, log: _replace_modules(
            plan, labextension_sources(plan), plan.prefix / "labextension", log
        ),
        made_from=lambda plan: [labextension_sources(plan) / name for name in node.LOCKED],
        results=lambda plan: [labextension_modules(plan)],
        needs=("node",),
        code=("node",),
    ),
    Target(
        name="lmod",
        summary="unpacking Lmod for the kernel tests",
        build=_unpack_lmod,
        made_from=lambda plan: [],
        results=lambda plan: [LMOD_LINK / "lmod/init/bash"],
    ),
    Target(
        name="image",
        summary="making a container image for the kernel tests",
        build=make_image,
        made_from=lambda plan: [*PACKAGES, Path(__file__).with_name("container_image.py")],
        results=lambda plan: [image_dir(plan) / "index.json"],
        needs=("uv", "server"),
    ),
)

if __name__ == "__main__":
    sys.exit(command.main(targets=(*targets.TARGETS, *TARGETS)))
