"""Which GPUs are the session's own, on a stand-in for NVIDIA's library."""

# ruff: noqa: N802 - the names are those of NVIDIA's library

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from portal.server.base.gpus import Gpus

MIB = 1024 * 1024


class FakeNvml(ModuleType):
    """Four GPUs; the last one is divided in two parts (MIG)."""

    NVML_TEMPERATURE_GPU = 0

    class NVMLError(Exception):
        """What the library raises."""

    def __init__(self, *, works: bool = True) -> None:
        super().__init__("fake_nvml")
        self.works = works

    def nvmlInit(self) -> None:
        if not self.works:
            raise self.NVMLError

    def nvmlDeviceGetCount(self) -> int:
        return 4

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:
        return f"GPU-{index}"

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:
        return uuid

    def nvmlDeviceGetUUID(self, handle: str) -> bytes:
        return handle.encode()

    def nvmlDeviceGetName(self, handle: str) -> str:
        return f"Tesla {handle}"

    def nvmlDeviceGetMinorNumber(self, handle: str) -> int:
        # Device files are numbered the other way round than the library counts.
        return 3 - int(handle[-1])

    def nvmlDeviceGetMigMode(self, handle: str) -> tuple[int, int]:
        if handle == "GPU-0":
            raise self.NVMLError
        return (1, 1) if handle == "GPU-3" else (0, 0)

    def nvmlDeviceGetMaxMigDeviceCount(self, _: str) -> int:
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: str, index: int) -> str:
        if index > 1:
            raise self.NVMLError
        return f"MIG-{handle[-1]}-{index}"

    def nvmlDeviceGetDeviceHandleFromMigDeviceHandle(self, handle: str) -> str:
        return f"GPU-{handle[4]}"

    def nvmlDeviceGetMemoryInfo(self, _: str) -> Any:
        return SimpleNamespace(used=512 * MIB, total=16384 * MIB)

    def nvmlDeviceGetUtilizationRates(self, handle: str) -> Any:
        if handle.startswith("MIG-"):
            raise self.NVMLError
        return SimpleNamespace(gpu=37, memory=2)

    def nvmlDeviceGetTemperature(self, handle: str, _: int) -> int:
        assert handle.startswith("GPU-"), "only a whole GPU has a thermometer"
        return 61

    def nvmlDeviceGetPowerUsage(self, handle: str) -> int:
        assert handle.startswith("GPU-"), "only a whole GPU has a power meter"
        return 249_600

    def nvmlDeviceGetEnforcedPowerLimit(self, _: str) -> int:
        return 700_000

    def nvmlDeviceGetComputeRunningProcesses(self, handle: str) -> list[Any]:
        if handle == "GPU-1":
            raise self.NVMLError
        unknown = SimpleNamespace(pid=5, usedGpuMemory=None)
        return [SimpleNamespace(pid=4, usedGpuMemory=300 * MIB), unknown]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setitem(sys.modules, "fake_nvml", FakeNvml())

    def read(**environment: str) -> list[str]:
        return [gpu.name for gpu in Gpus(environment, module="fake_nvml").read()]

    return read


def test_a_node_that_hides_the_gpus_of_others_shows_all_that_it_sees(read: Any) -> None:
    names = ["Tesla GPU-0", "Tesla GPU-1", "Tesla GPU-2", "Tesla MIG-3-0", "Tesla MIG-3-1"]

    assert read(CUDA_VISIBLE_DEVICES="0,1,2,3", SLURM_JOB_GPUS="0,1,2,3") == names
    assert read() == names


def test_a_node_that_shows_all_gpus_gives_only_those_of_the_job(read: Any) -> None:
    assert read(CUDA_VISIBLE_DEVICES="1,2", SLURM_JOB_GPUS="1,2") == ["Tesla GPU-1", "Tesla GPU-2"]
    assert read(CUDA_VISIBLE_DEVICES="3", SLURM_JOB_GPUS="3") == ["Tesla GPU-0"]


def test_gpus_named_by_their_uuid_are_those(read: Any) -> None:
    assert read(CUDA_VISIBLE_DEVICES="GPU-2", SLURM_JOB_GPUS="0") == ["Tesla GPU-2"]


def test_a_part_of_a_gpu_has_memory_and_temperature_but_no_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "fake_nvml", FakeNvml())

    (part,) = Gpus({"CUDA_VISIBLE_DEVICES": "MIG-3-1"}, module="fake_nvml").read()

    assert part.name == "Tesla MIG-3-1"
    assert (part.use_percent, part.temperature_c) == (None, 61)
    assert (part.memory_mib, part.memory_total_mib) == (512, 16384)


def test_a_whole_gpu_has_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fake_nvml", FakeNvml())

    gpu, other = Gpus({"SLURM_JOB_GPUS": "1,2"}, module="fake_nvml").read()[::-1]

    assert (gpu.use_percent, gpu.temperature_c, gpu.memory_mib) == (37.0, 61, 512)
    assert (gpu.power_w, gpu.power_limit_w) == (250, 700)
    assert gpu.memory_mib_of == {4: 300}
    assert other.memory_mib_of == {}, "it may not say which programs use it"
    assert "memory_mib_of" not in gpu.as_json()


def test_without_the_library_or_its_driver_there_are_no_gpus(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "fake_nvml", FakeNvml(works=False))

    assert Gpus({}, module="fake_nvml").read() == ()
    assert Gpus({}, module="no_such_nvml").read() == ()
