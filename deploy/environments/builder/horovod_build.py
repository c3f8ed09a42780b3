"""How one Horovod is compiled: for which framework, with which CUDA, from what. Pure."""

import enum
import os
from dataclasses import dataclass
from pathlib import Path

from deploy.common.errors import DeployError
from deploy.environments.builder import cuda, horovod_source, uv
from deploy.environments.builder.environment import installed_pins
from deploy.environments.builder.plan import Flavour, Plan
from deploy.environments.builder.process import SYSTEM_PATH
from deploy.environments.builder.target import PROGRAMS_DIR

CHECK = PROGRAMS_DIR / "allreduce_check.py"
# Modules that decide what a build looks like.
CODE = ("horovod", "horovod_build", "horovod_source", "cuda")


class Framework(enum.Enum):
    """The framework that a Horovod is compiled for; the value is its environment's name."""

    TENSORFLOW = "tensorflow"
    PYTORCH = "pytorch"


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """One way to compile Horovod.

    Args:
        toolkit: The CUDA toolkit for operations on NCCL; None if built without them.
    """

    plan: Plan
    framework: Framework = Framework.TENSORFLOW
    toolkit: cuda.Toolkit | None = None

    @property
    def env_dir(self) -> Path:
        """Environment of the framework."""
        return self.plan.environment(self.framework.value)


def tensorflow_version(plan: Plan) -> str:
    """Return the version of the installed TensorFlow, such as "2.21.0"."""
    pins = installed_pins(plan, "tensorflow")
    version = pins.get("tensorflow") or pins.get("tensorflow-cpu")
    if version is None:
        env_dir = plan.environment("tensorflow")
        raise DeployError(f"{env_dir} has neither tensorflow nor tensorflow-cpu.", "Add one.")
    return version


def local_version(build: Build) -> str:
    """Return the wheel's local version: its framework, CUDA, and whether it has MPI.

    Returns:
        Such as "tf2.21.0", with MPI "tf2.21.0.mpi", with NCCL "tf2.21.0.cu13"; for a TensorFlow
        with CUDA without NCCL "tf2.21.0.gpu".
    """
    plan = build.plan
    if build.framework is Framework.TENSORFLOW:
        version = f"tf{tensorflow_version(plan)}"
    else:
        # What is installed, which in flavour cpu may be the build with CUDA. A local version cannot
        # hold the second "+" of 2.13.0+cpu.
        version = f"torch{installed_pins(plan, 'pytorch')['torch'].partition('+')[0]}"
    gpu = ".gpu" if plan.flavour is Flavour.GPU else ""
    nccl = f".cu{build.toolkit.major}" if build.toolkit else gpu
    mpi = ".mpi" if plan.with_mpi else ""
    return f"{version}{nccl}{mpi}"


def patches(build: Build) -> tuple[horovod_source.Patch, ...]:
    """Return the changes to Horovod's source, in order."""
    return (
        *horovod_source.COMMON,
        *horovod_source.COMPILER,
        *horovod_source.LESS_TO_COMPILE,
        *(horovod_source.PYTORCH if build.framework is Framework.PYTORCH else ()),
        *(horovod_source.NCCL if build.toolkit else ()),
    )


def recipe(build: Build) -> str:
    """Return what a wheel depends on besides its framework.

    Returns:
        Text that two builds share only if the same wheel serves both.
    """
    plan = build.plan
    lock = uv.locked(plan, horovod_source.GROUP)
    changes = [f"{patch.path}: {patch.new}" for patch in patches(build) if patch.makes_another]
    mpi = ["with MPI"] if plan.with_mpi else []
    return "\n".join([plan.interpreter, lock, *changes, *mpi, *_compiler(build)])


def _compiler(build: Build) -> list[str]:
    if build.toolkit is None:
        return []
    if build.toolkit.home is not None:
        return [f"compiled with {build.toolkit.home}"]
    return [uv.locked(build.plan, cuda.GROUP)]


def made_from(plan: Plan, framework: Framework = Framework.TENSORFLOW) -> list[Path | str]:
    """Return what an installed Horovod depends on: files, and texts."""
    gpu: list[Path | str] = [uv.locked(plan, cuda.GROUP), f"--cuda {plan.cuda_home}"]
    recipe_of_cpu = recipe(Build(plan=plan, framework=framework))
    return [recipe_of_cpu, CHECK, *(gpu if plan.flavour is Flavour.GPU else [])]


def build_environment(build: Build, cuda_home: Path | None) -> dict[str, str]:
    """Return the variables of the build, apart from those for NCCL.

    `cuda_home` is the folder of the CUDA toolkit; None if built without.

    Returns:
        PATH, which begins with the environment and the toolkit, and the settings of the build.
    """
    is_tensorflow = build.framework is Framework.TENSORFLOW
    own = [build.env_dir / "bin", *([cuda_home / "bin"] if cuda_home else [])]
    return {
        "PATH": ":".join([*map(str, own), SYSTEM_PATH]),
        "HOROVOD_WITH_TENSORFLOW" if is_tensorflow else "HOROVOD_WITHOUT_TENSORFLOW": "1",
        "HOROVOD_WITHOUT_PYTORCH" if is_tensorflow else "HOROVOD_WITH_PYTORCH": "1",
        "HOROVOD_WITHOUT_MXNET": "1",
        "HOROVOD_WITH_GLOO": "1",
        "HOROVOD_LOCAL_VERSION": local_version(build),
        # common.h leans on other headers for it, and those of GCC 14 do not bring it.
        "CXXFLAGS": "-include stdexcept",
        # The library is 1 MB without symbols, 16 MB with them.
        "LDFLAGS": "-Wl,-s",
        "MAKEFLAGS": f"-j{os.cpu_count()}",
        # cmake 4 refuses the old minimum of Horovod's bundled libraries.
        "CMAKE_POLICY_VERSION_MINIMUM": "3.5",
        "HOROVOD_WITH_MPI" if build.plan.with_mpi else "HOROVOD_WITHOUT_MPI": "1",
    }
