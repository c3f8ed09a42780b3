"""Horovod's source, patched for today's frameworks.

Horovod 0.28.1 of 2023 is its last release.

* xla_mpi_ops.cc includes headers that TensorFlow 2.19 no longer has. It offers operations for
  XLA-compiled training on GPUs, which are off unless HOROVOD_ENABLE_XLA_OPS=1.
* gloo_context.cc forgets HOROVOD_GLOO_IFACE for the process set of all ranks, so that Gloo
  listens on whatever address the host name resolves to.
* PyTorch's headers ask for C++20, and nvcc 13 for C++17 or newer. Gloo goes to C++17, too: before
  it, a constant of a class is defined in one object, since then in each.
* mpi_ops.cc calls a function of TensorFlow for the CUDA stream that TensorFlow no longer exports.
* TensorFlow exports functions of the CUDA that it is made for, which the linker would take in place
  of those of the compiler's CUDA; the library for GPUs brings its own.
* The library for GPUs finds its framework's NCCL even if the framework has not loaded it yet.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from deploy.common.errors import DeployError
from deploy.environments.builder import uv
from deploy.environments.builder.environment import REGISTRY_HINT
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.process import run

VERSION = "0.28.1"
GROUP = "horovod"


@dataclass(frozen=True, slots=True)
class Patch:
    """One change of the source.

    Args:
        old: Text that occurs exactly once.
        makes_another: False if wheels with and without it are the same.
    """

    path: str
    old: str
    new: str
    makes_another: bool = True


COMMON = (
    Patch(
        "horovod/tensorflow/xla_mpi_ops.cc",
        "#if TENSORFLOW_VERSION >= 2006000000\n",
        "#if TENSORFLOW_VERSION >= 2006000000 && TENSORFLOW_VERSION < 2019000000\n",
    ),
    Patch(
        "horovod/common/gloo/gloo_context.cc",
        "  assert(global_context.IsEnabled());\n",
        "  assert(global_context.IsEnabled());\n  gloo_iface_ = global_context.gloo_iface_;\n",
    ),
)
# What GCC 14 refuses to compile. What is compiled stays the same, so an older wheel is as good.
COMPILER = (
    Patch(
        "third_party/flatbuffers/include/flatbuffers/stl_emulation.h",
        "  pointer const data_;\n  const size_type count_;\n",
        "  pointer data_;\n  size_type count_;\n",
        makes_another=False,
    ),
)
# What is compiled only to be thrown away: a Gloo for each C++ ABI that a framework may have, and
# symbols, which the linker strips.
LESS_TO_COMPILE = (
    Patch(
        "CMakeLists.txt",
        "    add_subdirectory(third_party/gloo)\n",
        "    add_subdirectory(third_party/gloo EXCLUDE_FROM_ALL)\n",
        makes_another=False,
    ),
    Patch(
        "setup.py",
        """== "1" else 'RelWithDebInfo'\n""",
        """== "1" else 'Release'\n""",
        makes_another=False,
    ),
)
PYTORCH = (
    Patch(
        "CMakeLists.txt",
        "set(CMAKE_CXX_STANDARD 14)\nset(CMAKE_CXX_STANDARD_REQUIRED ON)\n",
        "set(CMAKE_CXX_STANDARD 17)\nset(CMAKE_CXX_STANDARD_REQUIRED ON)\n",
    ),
    Patch(
        "horovod/torch/CMakeLists.txt",
        "    set(CMAKE_CXX_STANDARD 14)\n",
        "    set(CMAKE_CXX_STANDARD 20)\n",
    ),
)
_STREAM_HEADER = "#endif // TENSORFLOW_VERSION >= 2011000000\n#endif // HAVE_GPU\n"
_STREAM_OF = """\
#endif // TENSORFLOW_VERSION >= 2011000000
namespace stream_executor {
namespace gpu {
inline GpuStreamHandle AsGpuStreamValue(Stream* stream) {
  return static_cast<GpuStreamHandle>(stream->platform_specific_handle().stream);
}
} // namespace gpu
} // namespace stream_executor
#endif // HAVE_GPU
"""
_PROJECT = "project(horovod CXX)\n"
_LIBRARY_PATH = (
    "set(CMAKE_BUILD_WITH_INSTALL_RPATH TRUE)\n"
    'set(CMAKE_INSTALL_RPATH "$ORIGIN/../../nvidia/nccl/lib" "$ORIGIN/../../tensorflow"'
    ' "$ORIGIN/../../torch/lib")\n'
)
_RUNTIME_IF = (
    '        if(NCCL_LIBRARY_FILE_NAME MATCHES "static" AND '
    'lowercase_CMAKE_CUDA_RUNTIME_LIBRARY STREQUAL "static")\n'
)
_RUNTIME_ALWAYS = '        if(lowercase_CMAKE_CUDA_RUNTIME_LIBRARY STREQUAL "static")\n'
_CUDA_DIR = "horovod/common/ops/cuda/CMakeLists.txt"
NCCL = (
    Patch("CMakeLists.txt", _PROJECT, _PROJECT + _LIBRARY_PATH),
    Patch("CMakeLists.txt", _RUNTIME_IF, _RUNTIME_ALWAYS),
    Patch("horovod/tensorflow/mpi_ops.cc", _STREAM_HEADER, _STREAM_OF),
    Patch(_CUDA_DIR, "set(CMAKE_CUDA_STANDARD 11)\n", "set(CMAKE_CUDA_STANDARD 17)\n"),
    # It is compiled for every C++ ABI that a framework may have, and for each kind of GPU.
    Patch(
        _CUDA_DIR,
        "add_library(compatible_horovod_cuda_kernels cuda_kernels.cu)\n",
        "add_library(compatible_horovod_cuda_kernels EXCLUDE_FROM_ALL cuda_kernels.cu)\n",
    ),
)


def fetch_source(
    plan: Plan, python: Path, patches: Iterable[Patch], folder: Path, log: IO[str]
) -> Path:
    """Fetch the source and patch it; return its folder.

    `python` belongs to the environment that it is compiled for. `folder` must be empty.
    """
    lock = folder / "lock.txt"
    lock.write_text(uv.locked(plan, GROUP))
    words = ["--no-binary", "horovod", "--no-deps", "--no-build-isolation", "--no-cache-dir"]
    words += ["-d", str(folder), "--require-hashes", "-r", str(lock)]
    run([python, "-m", "pip", "download", *words], log=log, next_step=REGISTRY_HINT)
    run(["tar", "-xzf", folder / f"horovod-{VERSION}.tar.gz", "-C", folder], log=log)
    source = folder / f"horovod-{VERSION}"
    for patch in patches:
        replace_once(source / patch.path, patch.old, patch.new)
    return source


def replace_once(path: Path, old: str, new: str) -> None:
    """Replace text in a source file.

    `old` must occur exactly once.
    """
    text = path.read_text()
    if text.count(old) != 1:
        raise DeployError(
            f"{path.name} has {text.count(old)} places that read '{old.strip()}', not one.",
            "This version of Horovod needs another patch: see builder/horovod_source.py.",
        )
    path.write_text(text.replace(old, new))
