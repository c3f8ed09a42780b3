"""Horovod with NCCL, compiled by the compiler of the ordinary index; no GPU is needed.

It downloads 5.9 GB and compiles for some minutes. That ranks on GPUs average is not tried.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.environments.builder.plan import Flavour, Plan
from deploy.environments.builder.process import SYSTEM_PATH, clean_environment
from tests.lab.environments.built import built

CHECK_TIMEOUT_S = 300


@pytest.fixture(scope="module")
def plan() -> Iterator[Plan]:
    """TensorFlow and PyTorch with CUDA, and a Horovod for each."""
    with built(Flavour.GPU, "horovod", "horovod-pytorch") as plan:
        yield plan


@pytest.mark.parametrize("name", ["tensorflow", "pytorch"])
def test_horovod_has_nccl_and_gloo(plan: Plan, name: str) -> None:
    # The build itself has seen two ranks add their numbers.
    bin_dir = plan.environment(name) / "bin"

    done = subprocess.run(
        [bin_dir / "horovodrun", "--check-build"],
        env=clean_environment(PATH=f"{bin_dir}:{SYSTEM_PATH}"),
        timeout=CHECK_TIMEOUT_S,
        capture_output=True,
        text=True,
        check=True,
    )

    assert {"[X] NCCL", "[X] Gloo"} <= {line.strip() for line in done.stdout.splitlines()}


@pytest.mark.parametrize("name", ["tensorflow", "pytorch"])
def test_the_nccl_is_the_one_that_came_with_the_framework(plan: Plan, name: str) -> None:
    packages = next(plan.environment(name).glob("lib/python3*/site-packages"))
    (library,) = packages.glob("horovod/*/mpi_lib*.so")

    needed = subprocess.run(
        ["ldd", library], capture_output=True, text=True, timeout=60, check=True
    ).stdout

    lines = [line for line in needed.splitlines() if "libnccl.so.2" in line]
    assert lines
    path = Path(lines[0].partition("=> ")[2].rpartition(" (")[0])
    assert path.resolve() == packages / "nvidia/nccl/lib/libnccl.so.2"
