"""The CUDA toolkit that Horovod's operations for GPUs are compiled with.

A site's own, or NVIDIA's compiler from the ordinary index, which is needed during the build only:
what is compiled holds CUDA's runtime, and loads the NCCL that came with the framework.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from deploy.environments.builder import uv
from deploy.environments.builder.environment import REGISTRY_HINT, read_pins
from deploy.environments.builder.errors import StepError
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.process import output_of

# In the place of a folder on the command line: the compiler from the index.
FROM_INDEX = "index"
LOCK = "cuda.txt"
_RELEASE = re.compile(r"\brelease (\d+)\.(\d+)")
_NCCL = re.compile(r"nvidia-nccl-cu(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolkit:
    """A CUDA toolkit.

    Args:
        major: Such as 13.
        home: Its folder, which holds bin/nvcc; None where the index has it.
    """

    major: int
    home: Path | None = None


def check_home(home: Path) -> Path:
    """Refuse a folder that is no CUDA toolkit.

    Args:
        home: The folder.

    Returns:
        The folder.

    Raises:
        StepError: If it holds no nvcc that says its release.
    """
    release_of(home)
    return home


def release_of(home: Path) -> tuple[int, int]:
    """Return the release of a toolkit.

    Args:
        home: Its folder.

    Returns:
        Such as (12, 9).

    Raises:
        StepError: If it holds no nvcc that says its release.
    """
    told = output_of([home / "bin/nvcc", "--version"]) or ""
    if (found := _RELEASE.search(told)) is None:
        raise StepError(
            f"{home} is no CUDA toolkit: it has no bin/nvcc that says its release.",
            "Name the folder of one, such as --cuda /usr/local/cuda.",
        )
    return int(found[1]), int(found[2])


def cuda_of(prefix: Path) -> Path | None:
    """Return the toolkit that an installation keeps.

    Args:
        prefix: Folder of the results of builds.

    Returns:
        The folder that was named there; None for the compiler from the index.
    """
    path = _note(prefix)
    return Path(path.read_text().strip()) if path.exists() else None


def keep_cuda(prefix: Path, home: Path | None) -> None:
    """Let later builds keep a choice.

    Args:
        prefix: Folder of the results of builds.
        home: Folder of a toolkit; None for the compiler from the index.
    """
    if home is None:
        _note(prefix).unlink(missing_ok=True)
    else:
        _note(prefix).write_text(f"{home}\n")


def _note(prefix: Path) -> Path:
    return prefix / "cuda"


def framework_major(pins: Mapping[str, str]) -> int:
    """Return the CUDA that a framework is made for.

    Args:
        pins: Version of each package of its environment.

    Returns:
        The major release, such as 13; 0 for a framework without NCCL.
    """
    found = (_NCCL.fullmatch(name) for name in pins)
    return next((int(match[1]) for match in found if match), 0)


def choose_toolkit(plan: Plan, major: int | None = None) -> Toolkit:
    """Return the toolkit to compile with.

    Args:
        plan: Folders and choices.
        major: The release of CUDA that has to be; None for any.

    Returns:
        The one that was named where it may be, else that of the index.

    Raises:
        StepError: If neither may be, or the one that was named is not there.
    """
    found = []
    if plan.cuda_home is not None:
        found.append(Toolkit(major=release_of(plan.cuda_home)[0], home=plan.cuda_home))
    found.append(Toolkit(major=_index_major(plan)))
    for toolkit in found:
        if major in {None, toolkit.major}:
            return toolkit
    raise StepError(
        f"CUDA {major} is needed, and there is {' and '.join(f'CUDA {t.major}' for t in found)}.",
        f"Name a toolkit of CUDA {major}: --cuda DIR.",
    )


def _index_major(plan: Plan) -> int:
    return int(read_pins(plan.recipes_dir / LOCK)["nvidia-cuda-nvcc"].split(".")[0])


def place_toolkit(plan: Plan, toolkit: Toolkit, folder: Path, log: IO[str]) -> Path:
    """Return the folder of a toolkit, which is fetched first where the index has it.

    Args:
        plan: Folders and choices; the environment `uv` must be there.
        toolkit: The toolkit.
        folder: An empty folder for what is fetched.
        log: Open log file.

    Returns:
        Folder that holds bin/nvcc.

    Raises:
        StepError: If it cannot be had.
    """
    if toolkit.home is not None:
        return toolkit.home
    words = ("--target", folder, "--no-deps", "--require-hashes", "-r", plan.recipes_dir / LOCK)
    env_dir = plan.environment(uv.NAME)
    uv.run_pip(plan, "install", env_dir, *words, log=log, next_step=REGISTRY_HINT)
    home = folder / f"nvidia/cu{toolkit.major}"
    # What nvcc and cmake look for and the wheels leave out.
    (home / "lib64").symlink_to("lib")
    (home / "lib/libcudart.so").symlink_to(f"libcudart.so.{toolkit.major}")
    return home


def nccl_variables(home: Path, env_dir: Path, folder: Path) -> dict[str, str]:
    """Return the variables that build Horovod's operations for GPUs on NCCL.

    Args:
        home: Folder of the CUDA toolkit.
        env_dir: Environment of the framework, which brings NCCL.
        folder: An empty folder; gets the name that a linker looks for.

    Returns:
        Variables of Horovod's build, apart from PATH, which has to begin with the toolkit.

    Raises:
        StepError: If the environment has no NCCL.

    Source:
        Horovod 0.28.1, CMakeLists.txt, FindNCCL.cmake and build_utils.py.
    """
    nccl_dirs = sorted(env_dir.glob("lib/python3*/site-packages/nvidia/nccl"))
    if not nccl_dirs:
        raise StepError(f"{env_dir} has no NCCL.", "Build it with --flavour gpu.")
    (folder / "libnccl.so").symlink_to(nccl_dirs[0] / "lib/libnccl.so.2")
    return {
        "CUDA_HOME": str(home),
        "CUDAToolkit_ROOT": str(home),
        "HOROVOD_CUDA_HOME": str(home),
        "HOROVOD_GPU": "CUDA",
        "HOROVOD_GPU_OPERATIONS": "NCCL",
        "HOROVOD_NCCL_INCLUDE": str(nccl_dirs[0] / "include"),
        "HOROVOD_NCCL_LIB": str(folder),
        "HOROVOD_NCCL_LINK": "SHARED",
        "HOROVOD_WITHOUT_NVTX": "1",
    }
