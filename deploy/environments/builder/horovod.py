"""Horovod for exactly one TensorFlow or PyTorch: built once, kept in the wheelhouse.

In flavour gpu its ranks average over NCCL. If that cannot be built, TensorFlow's Horovod averages
through host memory, and PyTorch gets none: its own DistributedDataParallel averages over NCCL.
"""

import shutil
import tempfile
from pathlib import Path
from typing import IO

from deploy.common.errors import DeployError
from deploy.environments.builder import cuda, horovod_source, schedule
from deploy.environments.builder.debian import ensure_packages
from deploy.environments.builder.environment import installed_pins
from deploy.environments.builder.horovod_build import (
    CHECK,
    Build,
    Framework,
    build_environment,
    local_version,
    patches,
    recipe,
)
from deploy.environments.builder.horovod_source import VERSION
from deploy.environments.builder.plan import Flavour, Plan
from deploy.environments.builder.process import SYSTEM_PATH, clean_environment, read_output, run

BUILD_PACKAGES = ("g++", "cmake", "make")
MPI_PACKAGES = ("libopenmpi-dev", "openmpi-bin")
HOST_MEMORY = "On this installation Horovod averages gradients through host memory"
NO_PYTORCH = "On this installation PyTorch has no Horovod"
CURE = (
    "torch.nn.parallel.DistributedDataParallel averages over NCCL without it. For Horovod name a "
    "CUDA toolkit: --cuda DIR."
)


def install_horovod(plan: Plan, log: IO[str], framework: Framework = Framework.TENSORFLOW) -> None:
    """Install Horovod next to its framework and check an all-reduce of two ranks."""
    if plan.flavour is Flavour.CPU:
        return _install(Build(plan=plan, framework=framework), log)
    try:
        pins = installed_pins(plan, framework.value)
        # PyTorch's headers have to meet the CUDA that it was compiled with.
        major = cuda.framework_major(pins) if framework is Framework.PYTORCH else None
        toolkit = cuda.choose_toolkit(plan, major)
        return _install(Build(plan=plan, framework=framework, toolkit=toolkit), log)
    except DeployError as error:
        print(error.message, file=log)
        consequence = HOST_MEMORY if framework is Framework.TENSORFLOW else NO_PYTORCH
        schedule.say("horovod", f"{consequence}: {error.message} {CURE}")
    return _install(Build(plan=plan), log) if framework is Framework.TENSORFLOW else None


def _install(build: Build, log: IO[str]) -> None:
    plan = build.plan
    wheel = find_wheel(build) or build_wheel(build, log)
    bin_dir = build.env_dir / "bin"
    run(
        # A wheel that was compiled again has the same version, and pip would keep the old one.
        [bin_dir / "python", "-m", "pip", "install", "--no-deps", "--force-reinstall", wheel],
        log=log,
    )
    # The check adds up on the CPU, so that a build needs no free GPU.
    env = clean_environment(PATH=f"{bin_dir}:{SYSTEM_PATH}", CUDA_VISIBLE_DEVICES="")
    check = [build.framework.value, *(["--nccl"] if build.toolkit else [])]
    for way in ("--gloo", "--mpi") if plan.with_mpi else ("--gloo",):
        # Otherwise horovodrun remembers its checks of the hosts for an hour, in the caller's home.
        ranks = ["-np", "2", "-H", "localhost:2", way, "--disable-cache"]
        run(
            [bin_dir / "horovodrun", *ranks, bin_dir / "python", CHECK, *check],
            log=log,
            env=env,
            next_step=f"Delete {wheel} and run the build again: it then compiles Horovod again.",
        )


def find_wheel(build: Build) -> Path | None:
    """Return the wheel that an earlier build made in the same way, if there is one."""
    pattern = f"horovod-{VERSION}+{local_version(build)}-*.whl"
    wheels = sorted(build.plan.wheelhouse_dir.glob(pattern))
    return next((wheel for wheel in wheels if _is_made_alike(wheel, build)), None)


def _is_made_alike(wheel: Path, build: Build) -> bool:
    path = _recipe_path(wheel)
    return path.is_file() and path.read_text() == recipe(build)


def _recipe_path(wheel: Path) -> Path:
    return wheel.with_suffix(".txt")


def build_wheel(build: Build, log: IO[str]) -> Path:
    """Compile Horovod against the framework of its environment; return the wheel in the wheelhouse.

    Source:
        https://horovod.readthedocs.io/en/stable/install_include.html
    """
    plan = build.plan
    headers = () if has_headers(plan.python) else (headers_package(plan.python),)
    mpi = MPI_PACKAGES if plan.with_mpi else ()
    ensure_packages((*BUILD_PACKAGES, *headers, *mpi), log)
    python = build.env_dir / "bin/python"
    # A new folder each time: CMake's cache in a used one would link the other framework.
    with tempfile.TemporaryDirectory(prefix="dsportal-horovod-") as name:
        folder = Path(name)
        home, variables = None, {}
        if build.toolkit is not None:
            (folder / "cuda").mkdir()
            (folder / "nccl").mkdir()
            home = cuda.place_toolkit(plan, build.toolkit, folder / "cuda", log)
            variables = cuda.nccl_variables(home, build.env_dir, folder / "nccl")
        source = horovod_source.fetch_source(plan, python, patches(build), folder, log)
        # An isolated build would not find the framework, and pip's cache does not tell wheels for
        # different frameworks apart.
        options = ["--no-build-isolation", "--no-deps", "--no-cache-dir"]
        run(
            [python, "-m", "pip", "wheel", *options, "--wheel-dir", folder, source],
            log=log,
            env=clean_environment(**build_environment(build, home), **variables),
            next_step="The compiler's first error in the log names the cause.",
        )
        (built,) = folder.glob("horovod-*.whl")
        plan.wheelhouse_dir.mkdir(parents=True, exist_ok=True)
        wheel = Path(shutil.copy(built, plan.wheelhouse_dir))
    # After the wheel, which is never taken without its recipe.
    _recipe_path(wheel).write_text(recipe(build))
    return wheel


def has_headers(python: Path) -> bool:
    """Return whether extensions can be compiled for an interpreter, that is, Python.h exists."""
    folder = read_output([python, "-c", "import sysconfig; print(sysconfig.get_path('include'))"])
    return folder is not None and Path(folder, "Python.h").is_file()


def headers_package(python: Path) -> str:
    """Return Debian's package with an interpreter's headers, such as "python3.12-dev"."""
    return f"{python.name}-dev"
