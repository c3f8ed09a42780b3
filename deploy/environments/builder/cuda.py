"""The CUDA toolkit that compiles Horovod's GPU operations.

Either the site's own, or NVIDIA's compiler from the ordinary index. It is needed only during the
build: the result contains CUDA's runtime, and loads the NCCL that came with the framework.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from deploy.common.errors import DeployError
from deploy.environments.builder import uv
from deploy.environments.builder.environment import REGISTRY_HINT
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.process import read_output

# In the place of a folder on the command line: the compiler from the index.
FROM_INDEX = "index"
GROUP = "cuda"
_RELEASE = re.compile(r"\brelease (\d+)\.(\d+)")
# The name of NVIDIA's wheel ends in the major release of CUDA: nvidia-nccl-cu13.
_NCCL = re.compile(r"nvidia-nccl-cu(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolkit:
    """A CUDA toolkit.

    Args:
        home: Folder that holds bin/nvcc; None for the toolkit from the index.
    """

    major: int
    home: Path | None = None


def check_home(home: Path) -> Path:
    """Return a folder unchanged if it is a CUDA toolkit."""
    cuda_release(home)
    return home


def cuda_release(home: Path) -> tuple[int, int]:
    """Return major and minor release of a toolkit, such as (12, 9)."""
    told = read_output([home / "bin/nvcc", "--version"]) or ""
    if (found := _RELEASE.search(told)) is None:
        raise DeployError(
            f"{home} is no CUDA toolkit: it has no bin/nvcc that says its release.",
            "Name the folder of one, such as --cuda /usr/local/cuda.",
        )
    return int(found[1]), int(found[2])


def framework_major(pins: Mapping[str, str]) -> int:
    """Return the major CUDA release that a framework is built for; 0 if it has no NCCL."""
    found = (_NCCL.fullmatch(name) for name in pins)
    return next((int(match[1]) for match in found if match), 0)


def choose_toolkit(plan: Plan, major: int | None = None) -> Toolkit:
    """Return the toolkit to compile with: the site's own if it fits, else that of the index.

    `major` is the release of CUDA that is required; None for any.
    """
    found = []
    if plan.cuda_home is not None:
        found.append(Toolkit(major=cuda_release(plan.cuda_home)[0], home=plan.cuda_home))
    found.append(Toolkit(major=_index_major(plan)))
    for toolkit in found:
        if major in {None, toolkit.major}:
            return toolkit
    raise DeployError(
        f"CUDA {major} is needed, and there is {' and '.join(f'CUDA {t.major}' for t in found)}.",
        f"Name a toolkit of CUDA {major}: --cuda DIR.",
    )


def _index_major(plan: Plan) -> int:
    return int(uv.read_pins(uv.locked(plan, GROUP))["nvidia-cuda-nvcc"].split(".")[0])


def place_toolkit(plan: Plan, toolkit: Toolkit, folder: Path, log: IO[str]) -> Path:
    """Return the folder that holds bin/nvcc; fetch the toolkit first if it is in the index.

    The environment `uv` must exist. `folder` is empty, and gets what is fetched.
    """
    if toolkit.home is not None:
        return toolkit.home
    lock = folder / "lock.txt"
    lock.write_text(uv.locked(plan, GROUP))
    words = ("--target", folder, "--no-deps", "--require-hashes", "-r", lock)
    env_dir = plan.environment(uv.NAME)
    uv.run_pip(plan, "install", env_dir, *words, log=log, next_step=REGISTRY_HINT)
    home = folder / f"nvidia/cu{toolkit.major}"
    # What nvcc and cmake look for and the wheels leave out.
    (home / "lib64").symlink_to("lib")
    (home / "lib/libcudart.so").symlink_to(f"libcudart.so.{toolkit.major}")
    return home


def nccl_variables(home: Path, env_dir: Path, folder: Path) -> dict[str, str]:
    """Return the variables that build Horovod's GPU operations on NCCL.

    PATH is not among them; it has to begin with the toolkit.

    `env_dir` is the framework's environment, which brings NCCL. `folder` is empty, and gets a
    libnccl.so, the name that a linker looks for.

    Source:
        Horovod 0.28.1, CMakeLists.txt, FindNCCL.cmake and build_utils.py.
    """
    nccl_dirs = sorted(env_dir.glob("lib/python3*/site-packages/nvidia/nccl"))
    if not nccl_dirs:
        raise DeployError(f"{env_dir} has no NCCL.", "Build it with --flavour gpu.")
    (folder / "libnccl.so").symlink_to(nccl_dirs[0] / "lib/libnccl.so.2")
    return {
        "CUDA_HOME": str(home),
        # The name that cmake's own FindCUDAToolkit reads.
        "CUDAToolkit_ROOT": str(home),
        "HOROVOD_CUDA_HOME": str(home),
        "HOROVOD_GPU": "CUDA",
        "HOROVOD_GPU_OPERATIONS": "NCCL",
        "HOROVOD_NCCL_INCLUDE": str(nccl_dirs[0] / "include"),
        "HOROVOD_NCCL_LIB": str(folder),
        # At run time it has to use the framework's NCCL, not a copy of its own.
        "HOROVOD_NCCL_LINK": "SHARED",
        # The toolkit from the index comes without NVTX.
        "HOROVOD_WITHOUT_NVTX": "1",
    }
