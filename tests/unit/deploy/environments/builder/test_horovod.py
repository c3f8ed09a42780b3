"""Which wheel of Horovod serves which build, and what its build is told."""

from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest

from deploy.common.errors import DeployError
from deploy.environments.builder import horovod, horovod_source, uv
from deploy.environments.builder.command import parse_arguments
from deploy.environments.builder.cuda import Toolkit
from deploy.environments.builder.environment import PINS_FILE
from deploy.environments.builder.horovod import find_wheel, install_horovod
from deploy.environments.builder.horovod_build import (
    Build,
    Framework,
    build_environment,
    local_version,
    made_from,
    patches,
    recipe,
)
from deploy.environments.builder.horovod_source import VERSION
from deploy.environments.builder.plan import Flavour, Plan

CUDA_13 = Toolkit(major=13)


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    plan = Plan(prefix=tmp_path)
    of_group = {"horovod": "horovod==0.28.1\n", "cuda": "nvidia-cuda-nvcc==13.0.88\n"}
    monkeypatch.setattr(uv, "locked", lambda plan, name: of_group[name])
    for name, pins in (
        ("tensorflow", "tensorflow==2.21.0\nnvidia-nccl-cu12==2.32.3\n"),
        ("pytorch", "torch==2.13.0+cpu\nnvidia-nccl-cu13==2.29.7\n"),
    ):
        plan.environment(name).mkdir(parents=True)
        (plan.environment(name) / PINS_FILE).write_text(pins)
    return plan


@pytest.fixture
def gpu_plan(plan: Plan) -> Plan:
    return replace(plan, flavour=Flavour.GPU)


def put_wheel(build: Build) -> Path:
    name = f"horovod-{VERSION}+{local_version(build)}-cp311-cp311-linux_x86_64.whl"
    wheel = build.plan.wheelhouse_dir / name
    build.plan.wheelhouse_dir.mkdir(exist_ok=True)
    wheel.touch()
    wheel.with_suffix(".txt").write_text(recipe(build))
    return wheel


def test_mpi_is_compiled_only_where_it_was_asked_for() -> None:
    assert not parse_arguments(["horovod"])[1].with_mpi
    assert parse_arguments(["--with-mpi", "horovod"])[1].with_mpi


def test_wheels_for_each_framework_with_cuda_mpi_and_without_stand_side_by_side(
    plan: Plan, gpu_plan: Plan
) -> None:
    builds = {
        "tf2.21.0": Build(plan=plan),
        "tf2.21.0.mpi": Build(plan=replace(plan, with_mpi=True)),
        "tf2.21.0.gpu": Build(plan=gpu_plan),
        "tf2.21.0.cu13": Build(plan=gpu_plan, toolkit=CUDA_13),
        "tf2.21.0.cu12.mpi": Build(
            plan=replace(gpu_plan, with_mpi=True), toolkit=Toolkit(major=12, home=Path("/cuda"))
        ),
        "torch2.13.0": Build(plan=plan, framework=Framework.PYTORCH),
        "torch2.13.0.cu13": Build(plan=gpu_plan, framework=Framework.PYTORCH, toolkit=CUDA_13),
    }
    wheels = [put_wheel(build) for build in builds.values()]

    assert [local_version(build) for build in builds.values()] == [*builds]
    assert [find_wheel(build) for build in builds.values()] == wheels


def test_a_wheel_that_was_made_in_another_way_is_not_taken(plan: Plan, gpu_plan: Plan) -> None:
    with_mpi = Build(plan=replace(plan, with_mpi=True))
    put_wheel(with_mpi).with_suffix(".txt").write_text(recipe(Build(plan=plan)))
    put_wheel(Build(plan=gpu_plan, toolkit=CUDA_13))
    of_site = Build(plan=gpu_plan, toolkit=Toolkit(major=13, home=Path("/usr/local/cuda")))

    assert find_wheel(with_mpi) is None
    assert find_wheel(of_site) is None


def test_what_a_newer_compiler_asks_for_makes_no_other_wheel(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = put_wheel(Build(plan=plan))
    patch = horovod_source.Patch("a.h", "const int x;", "int x;", makes_another=False)
    monkeypatch.setattr(horovod_source, "COMPILER", (patch,))

    assert find_wheel(Build(plan=plan)) == wheel


def test_another_toolkit_makes_another_horovod_in_the_flavour_gpu_alone(
    plan: Plan, gpu_plan: Plan
) -> None:
    def with_toolkit(plan: Plan) -> Plan:
        return replace(plan, cuda_home=Path("/usr/local/cuda"))

    assert made_from(plan) == made_from(with_toolkit(plan))
    assert made_from(gpu_plan) != made_from(with_toolkit(gpu_plan))


def test_the_build_is_told_of_one_framework_and_looks_in_its_environment_first(plan: Plan) -> None:
    tensorflow = build_environment(Build(plan=plan), None)
    pytorch = build_environment(Build(plan=plan, framework=Framework.PYTORCH), Path("/cuda"))

    def frameworks(environ: dict[str, str]) -> set[str]:
        words = ("TENSORFLOW", "PYTORCH", "MXNET")
        return {name for name in environ if name.startswith("HOROVOD_") and name.endswith(words)}

    assert frameworks(tensorflow) == {
        *("HOROVOD_WITH_TENSORFLOW", "HOROVOD_WITHOUT_PYTORCH", "HOROVOD_WITHOUT_MXNET")
    }
    assert frameworks(pytorch) == {
        *("HOROVOD_WITHOUT_TENSORFLOW", "HOROVOD_WITH_PYTORCH", "HOROVOD_WITHOUT_MXNET")
    }
    assert pytorch["PATH"].startswith(f"{plan.environment('pytorch')}/bin:/cuda/bin:")


def test_without_nccl_tensorflow_averages_through_host_memory_and_the_installer_says_so(
    gpu_plan: Plan, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tried: list[str] = []

    def install(build: Build, log: StringIO) -> None:
        tried.append(local_version(build))
        if build.toolkit is not None:
            raise DeployError("'pip wheel ...' ended with status 1.")

    monkeypatch.setattr(horovod, "_install", install)
    install_horovod(gpu_plan, StringIO())

    assert tried == ["tf2.21.0.cu13", "tf2.21.0.gpu"]
    assert capsys.readouterr().out == (
        "horovod     On this installation Horovod averages gradients through host memory: "
        "'pip wheel ...' ended with status 1. torch.nn.parallel.DistributedDataParallel averages "
        "over NCCL without it. For Horovod name a CUDA toolkit: --cuda DIR.\n"
    )


def test_without_nccl_pytorch_has_no_horovod_and_the_installer_says_so(
    gpu_plan: Plan, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(uv, "locked", lambda plan, name: "nvidia-cuda-nvcc==14.0.1\n")
    monkeypatch.setattr(horovod, "_install", lambda build, log: pytest.fail("was built"))
    install_horovod(gpu_plan, StringIO(), Framework.PYTORCH)

    said = capsys.readouterr().out
    assert "PyTorch has no Horovod: CUDA 13 is needed, and there is CUDA 14." in said


def test_a_failed_build_for_the_cpu_is_a_failure(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(build: Build, log: StringIO) -> None:
        raise DeployError("'pip wheel ...' ended with status 1.")

    monkeypatch.setattr(horovod, "_install", fail)

    with pytest.raises(DeployError):
        install_horovod(plan, StringIO())


def test_each_build_changes_what_its_framework_needs_and_no_more(
    plan: Plan, gpu_plan: Plan
) -> None:
    for_all = set(patches(Build(plan=plan)))

    def changed(build: Build) -> set[str]:
        return {patch.path for patch in set(patches(build)) - for_all}

    for_gpus = changed(Build(plan=gpu_plan, toolkit=CUDA_13))
    for_pytorch = changed(Build(plan=plan, framework=Framework.PYTORCH))

    assert "horovod/tensorflow/mpi_ops.cc" in for_gpus
    assert for_pytorch == {"CMakeLists.txt", "horovod/torch/CMakeLists.txt"}


def test_the_library_looks_for_the_nccl_that_came_with_its_framework(gpu_plan: Plan) -> None:
    said = recipe(Build(plan=gpu_plan, toolkit=CUDA_13))

    assert 'CMAKE_INSTALL_RPATH "$ORIGIN/../../nvidia/nccl/lib"' in said
