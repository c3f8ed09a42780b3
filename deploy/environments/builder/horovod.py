"""Horovod for exactly one TensorFlow: built once, kept in the wheelhouse.

Horovod 0.28.1 is published as source only. Two of its files are changed before the build:

* xla_mpi_ops.cc includes headers that TensorFlow 2.19 no longer has. It offers operations for
  XLA-compiled training on GPUs, which are off unless HOROVOD_ENABLE_XLA_OPS=1.
* gloo_context.cc forgets HOROVOD_GLOO_IFACE for the process set of all ranks, so that Gloo
  listens on whatever address the host name resolves to.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import IO

from deploy.environments.builder.debian import ensure_packages
from deploy.environments.builder.environment import REGISTRY_HINT, read_pins
from deploy.environments.builder.errors import StepError
from deploy.environments.builder.flavour import Flavour
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.process import SYSTEM_PATH, clean_environment, output_of, run
from deploy.environments.builder.target import PROGRAMS_DIR

VERSION = "0.28.1"
BUILD_PACKAGES = ("g++", "cmake", "make")
MPI_PACKAGES = ("libopenmpi-dev", "openmpi-bin")
CHECK = PROGRAMS_DIR / "allreduce_check.py"

PATCHES = {
    "horovod/tensorflow/xla_mpi_ops.cc": (
        "#if TENSORFLOW_VERSION >= 2006000000\n",
        "#if TENSORFLOW_VERSION >= 2006000000 && TENSORFLOW_VERSION < 2019000000\n",
    ),
    "horovod/common/gloo/gloo_context.cc": (
        "  assert(global_context.IsEnabled());\n",
        "  assert(global_context.IsEnabled());\n  gloo_iface_ = global_context.gloo_iface_;\n",
    ),
}
# What GCC 14 refuses to compile. What is compiled stays the same, so an older wheel is as good.
COMPILER_PATCHES = {
    "third_party/flatbuffers/include/flatbuffers/stl_emulation.h": (
        "  pointer const data_;\n  const size_type count_;\n",
        "  pointer data_;\n  size_type count_;\n",
    ),
}


def tensorflow_version(pins: Path) -> str:
    """Return the TensorFlow version of a pinned file.

    Args:
        pins: Pinned file of a TensorFlow environment.

    Returns:
        Such as "2.21.0".

    Raises:
        StepError: If the file pins no TensorFlow.
    """
    versions = read_pins(pins)
    for name in ("tensorflow", "tensorflow-cpu"):
        if name in versions:
            return versions[name]
    raise StepError(f"{pins} pins neither tensorflow nor tensorflow-cpu.", "Add one of them.")


def local_version(plan: Plan) -> str:
    """Return what marks a wheel as built for one TensorFlow, and with MPI.

    Args:
        plan: Folders and choices.

    Returns:
        Such as "tf2.21.0", with MPI "tf2.21.0.mpi", for TensorFlow with CUDA "tf2.21.0.gpu".
    """
    gpu = ".gpu" if plan.flavour is Flavour.GPU else ""
    mpi = ".mpi" if plan.with_mpi else ""
    return f"tf{tensorflow_version(plan.pins('tensorflow'))}{gpu}{mpi}"


def install_horovod(plan: Plan, log: IO[str]) -> None:
    """Install Horovod beside TensorFlow and see two ranks add their numbers.

    Args:
        plan: Folders and choices.
        log: Open log file.

    Raises:
        StepError: If the build, the installation or the all-reduce fails.
    """
    wheel = find_wheel(plan) or build_wheel(plan, log)
    bin_dir = plan.environment("tensorflow") / "bin"
    run(
        [bin_dir / "python", "-m", "pip", "install", "--no-deps", "--force-reinstall", wheel],
        log=log,
    )
    env = clean_environment(PATH=f"{bin_dir}:{SYSTEM_PATH}", CUDA_VISIBLE_DEVICES="")
    for way in ("--gloo", "--mpi") if plan.with_mpi else ("--gloo",):
        ranks = ["-np", "2", "-H", "localhost:2", way, "--disable-cache"]
        run(
            [bin_dir / "horovodrun", *ranks, bin_dir / "python", CHECK],
            log=log,
            env=env,
            next_step=f"Delete {wheel} and run the build again: it then compiles Horovod anew.",
        )


def find_wheel(plan: Plan) -> Path | None:
    """Return the wheel that was built earlier in the same way, if there is one.

    Args:
        plan: Folders and choices.

    Returns:
        Path of the wheel, or None.
    """
    wheels = sorted(plan.wheelhouse_dir.glob(f"horovod-{VERSION}+{local_version(plan)}-*.whl"))
    return next((wheel for wheel in wheels if _is_made_alike(wheel, plan)), None)


def _is_made_alike(wheel: Path, plan: Plan) -> bool:
    path = _recipe_path(wheel)
    return path.is_file() and path.read_text() == recipe(plan)


def _recipe_path(wheel: Path) -> Path:
    return wheel.with_suffix(".recipe")


def recipe(plan: Plan) -> str:
    """Return what a wheel depends on beside its TensorFlow.

    Args:
        plan: Folders and choices.

    Returns:
        Text that two plans share only where the same wheel serves both.
    """
    lock = (plan.recipes_dir / "horovod.txt").read_text()
    patches = [f"{path}: {new}" for path, (_, new) in PATCHES.items()]
    return "\n".join([plan.interpreter, lock, *patches, *(["with MPI"] if plan.with_mpi else [])])


def build_wheel(plan: Plan, log: IO[str]) -> Path:
    """Compile Horovod against the TensorFlow of its environment.

    Args:
        plan: Folders and choices.
        log: Open log file.

    Returns:
        The wheel, in the wheelhouse.

    Raises:
        StepError: If the sources cannot be had, are not those that are known, or do not compile.

    Source:
        https://horovod.readthedocs.io/en/stable/install_include.html
    """
    headers = () if has_headers(plan.python) else (headers_package(plan.python),)
    mpi = MPI_PACKAGES if plan.with_mpi else ()
    ensure_packages((*BUILD_PACKAGES, *headers, *mpi), log)
    python = plan.environment("tensorflow") / "bin/python"
    with tempfile.TemporaryDirectory(prefix="dsportal-horovod-") as folder:
        source = _patched_source(plan, python, Path(folder), log)
        options = ["--no-build-isolation", "--no-deps", "--no-cache-dir", "--wheel-dir", folder]
        run(
            [python, "-m", "pip", "wheel", *options, source],
            log=log,
            env=_build_environment(plan),
            next_step="The compiler's first error in the log names the cause.",
        )
        (built,) = Path(folder).glob("horovod-*.whl")
        plan.wheelhouse_dir.mkdir(parents=True, exist_ok=True)
        wheel = Path(shutil.copy(built, plan.wheelhouse_dir))
    _recipe_path(wheel).write_text(recipe(plan))
    return wheel


def has_headers(python: Path) -> bool:
    """Return whether extensions can be compiled for an interpreter.

    Args:
        python: Its path.
    """
    folder = output_of([python, "-c", "import sysconfig; print(sysconfig.get_path('include'))"])
    return folder is not None and Path(folder, "Python.h").is_file()


def headers_package(python: Path) -> str:
    """Return Debian's package with the headers of an interpreter.

    Args:
        python: Its path.

    Returns:
        Such as "python3-dev" or "python3.12-dev".
    """
    return f"{python.name}-dev"


def _build_environment(plan: Plan) -> dict[str, str]:
    bin_dir = plan.environment("tensorflow") / "bin"
    return clean_environment(
        PATH=f"{bin_dir}:{SYSTEM_PATH}",
        HOROVOD_WITH_TENSORFLOW="1",
        HOROVOD_WITHOUT_PYTORCH="1",
        HOROVOD_WITHOUT_MXNET="1",
        HOROVOD_WITH_GLOO="1",
        HOROVOD_LOCAL_VERSION=local_version(plan),
        # common.h leans on other headers for it, and those of GCC 14 do not bring it.
        CXXFLAGS="-include stdexcept",
        LDFLAGS="-Wl,-s",
        MAKEFLAGS=f"-j{os.cpu_count()}",
        # cmake 4 refuses the old minimum of Horovod's bundled libraries.
        CMAKE_POLICY_VERSION_MINIMUM="3.5",
        **({"HOROVOD_WITH_MPI": "1"} if plan.with_mpi else {"HOROVOD_WITHOUT_MPI": "1"}),
    )


def _patched_source(plan: Plan, python: Path, folder: Path, log: IO[str]) -> Path:
    lock = plan.recipes_dir / "horovod.txt"
    source_only = ["--no-binary", "horovod", "--no-deps", "--no-build-isolation", "--no-cache-dir"]
    run(
        [
            python,
            "-m",
            "pip",
            "download",
            *source_only,
            "-d",
            folder,
            "--require-hashes",
            "-r",
            lock,
        ],
        log=log,
        next_step=REGISTRY_HINT,
    )
    run(["tar", "-xzf", folder / f"horovod-{VERSION}.tar.gz", "-C", folder], log=log)
    source = folder / f"horovod-{VERSION}"
    for name, (old, new) in (PATCHES | COMPILER_PATCHES).items():
        replace_once(source / name, old, new)
    return source


def replace_once(path: Path, old: str, new: str) -> None:
    """Change one place of a source file.

    Args:
        path: The file.
        old: What stands there now, exactly once.
        new: What shall stand there.

    Raises:
        StepError: If `old` is not there exactly once.
    """
    text = path.read_text()
    if text.count(old) != 1:
        raise StepError(
            f"{path.name} has {text.count(old)} places that read '{old.strip()}', not one.",
            "This version of Horovod needs another patch: see builder/horovod.py.",
        )
    path.write_text(text.replace(old, new))
