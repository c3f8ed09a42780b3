"""Which CUDA toolkit Horovod is compiled with."""

from dataclasses import replace
from pathlib import Path

import pytest

from deploy.common.errors import DeployError
from deploy.environments.builder.choices import keep_choices, kept_cuda
from deploy.environments.builder.command import main, parse_arguments
from deploy.environments.builder.cuda import (
    GROUP,
    Toolkit,
    choose_toolkit,
    cuda_release,
    framework_major,
    nccl_variables,
)
from deploy.environments.builder.plan import Flavour, Plan
from deploy.environments.builder.uv import locked, read_pins
from tests.suites import PREFIX


@pytest.fixture
def cuda_12(tmp_path: Path) -> Path:
    """A toolkit of a site."""
    nvcc = tmp_path / "cuda-12.9/bin/nvcc"
    nvcc.parent.mkdir(parents=True)
    nvcc.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 12.9, V12.9.86'\n")
    nvcc.chmod(0o755)
    return tmp_path / "cuda-12.9"


def test_the_release_of_a_toolkit_is_what_its_compiler_says(cuda_12: Path) -> None:
    assert cuda_release(cuda_12) == (12, 9)


def test_a_folder_without_nvcc_is_refused_with_what_to_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["--prefix", str(tmp_path / "prefix"), "--cuda", str(tmp_path), "horovod"])

    assert status == 2
    assert capsys.readouterr().err == (
        f"{tmp_path} is no CUDA toolkit: it has no bin/nvcc that says its release. Name the folder "
        "of one, such as --cuda /usr/local/cuda.\n"
    )


def test_later_builds_keep_the_toolkit_until_another_is_named(
    tmp_path: Path, cuda_12: Path
) -> None:
    def chosen(*words: str) -> Path | None:
        plan = parse_arguments(["--prefix", str(tmp_path), *words, "horovod"])[1]
        keep_choices(plan)
        return plan.cuda_home

    assert chosen() is None
    assert chosen("--cuda", str(cuda_12)) == cuda_12
    assert chosen() == kept_cuda(tmp_path) == cuda_12
    assert chosen("--cuda", "index") is None
    assert chosen() is None


def test_the_named_toolkit_is_taken_where_it_fits_the_framework(cuda_12: Path) -> None:
    plan = Plan(prefix=PREFIX)
    of_site = replace(plan, cuda_home=cuda_12)

    assert choose_toolkit(plan) == Toolkit(major=13)
    assert choose_toolkit(of_site) == Toolkit(major=12, home=cuda_12)
    assert choose_toolkit(of_site, 13) == Toolkit(major=13)
    with pytest.raises(DeployError, match="CUDA 11 is needed, and there is CUDA 12 and CUDA 13"):
        choose_toolkit(of_site, 11)


def test_the_compiler_of_the_index_is_for_the_cuda_of_pytorch() -> None:
    plan = Plan(prefix=PREFIX)
    major = framework_major(read_pins(locked(plan, "pytorch")))
    pins = read_pins(locked(plan, GROUP))

    assert {version.split(".")[0] for version in pins.values()} == {str(major)}


def test_a_framework_without_nccl_is_for_no_cuda() -> None:
    assert framework_major({"tensorflow-cpu": "2.21.0"}) == 0


def test_horovod_is_built_on_the_nccl_of_its_framework(tmp_path: Path) -> None:
    nccl = tmp_path / "env/lib/python3.11/site-packages/nvidia/nccl"
    nccl.mkdir(parents=True)
    (tmp_path / "link").mkdir()

    variables = nccl_variables(Path("/cuda"), tmp_path / "env", tmp_path / "link")

    assert variables["HOROVOD_GPU_OPERATIONS"] == "NCCL"
    assert variables["HOROVOD_CUDA_HOME"] == "/cuda"
    assert variables["HOROVOD_NCCL_INCLUDE"] == str(nccl / "include")
    assert (tmp_path / "link/libnccl.so").readlink() == nccl / "lib/libnccl.so.2"


def test_an_environment_without_nccl_names_the_flavour_that_has_it(tmp_path: Path) -> None:
    with pytest.raises(DeployError, match="has no NCCL") as refusal:
        nccl_variables(Path("/cuda"), tmp_path, tmp_path)

    assert refusal.value.next_step == "Build it with --flavour gpu."


def test_all_has_horovod_for_pytorch_only_where_there_are_gpus() -> None:
    for flavour in Flavour:
        names, _ = parse_arguments(["--flavour", flavour.value, "all"])

        assert ("horovod-pytorch" in names) is (flavour is Flavour.GPU)
