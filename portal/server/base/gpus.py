"""Readings of the session's own GPUs from NVIDIA's management library (NVML)."""

import contextlib
import importlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuReading:
    """One GPU, or one MIG slice of a GPU, at one moment.

    Attributes:
        use_percent: Share of the last moments in which it computed; None if not known, as for MIG.
        memory_mib: Memory in use; None if not known.
        temperature_c: Degrees Celsius; of the whole GPU for MIG.
        power_w: Watts that are drawn; of the whole GPU for MIG.
        memory_mib_of: Memory in use for each process id; not part of the JSON.
    """

    name: str
    use_percent: float | None = None
    memory_mib: int | None = None
    memory_total_mib: int | None = None
    temperature_c: int | None = None
    power_w: int | None = None
    power_limit_w: int | None = None
    memory_mib_of: Mapping[int, int] = field(default_factory=dict, compare=False)

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        values = asdict(self)
        del values["memory_mib_of"]
        return values


class Gpus:
    """Reads the GPUs of this session only.

    The library is loaded at the first reading. Without it, or without a GPU, there are none.

    Args:
        environment: Needs CUDA_VISIBLE_DEVICES and SLURM_JOB_GPUS.
    """

    def __init__(self, environment: Mapping[str, str], *, module: str = "pynvml") -> None:
        self._environment = environment
        self._module = module
        self._nvml: Any = None
        self._uuids: tuple[str, ...] | None = None

    def read(self) -> tuple[GpuReading, ...]:
        """Return a reading of each GPU, in a fixed order; takes long if the driver hangs."""
        if self._uuids is None:
            self._uuids = self._find()
        return tuple(self._read_one(uuid) for uuid in self._uuids)

    def _find(self) -> tuple[str, ...]:
        # The Python package is on every node, the driver's library is not.
        with contextlib.suppress(ImportError):
            nvml = importlib.import_module(self._module)
            with contextlib.suppress(nvml.NVMLError):
                nvml.nvmlInit()
                self._nvml = nvml
                return choose_uuids(nvml, self._environment)
        return ()

    def _read_one(self, uuid: str) -> GpuReading:
        nvml = self._nvml
        handle = _ask(nvml, nvml.nvmlDeviceGetHandleByUUID, uuid)
        if handle is None:
            return GpuReading(name=uuid)
        memory = _ask(nvml, nvml.nvmlDeviceGetMemoryInfo, handle)
        use = _ask(nvml, nvml.nvmlDeviceGetUtilizationRates, handle)
        parent = handle
        if uuid.startswith("MIG-"):
            parent = _ask(nvml, nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle, handle) or handle
        return GpuReading(
            name=_text(_ask(nvml, nvml.nvmlDeviceGetName, handle) or "GPU"),
            use_percent=None if use is None else float(use.gpu),
            memory_mib=None if memory is None else memory.used // MIB,
            memory_total_mib=None if memory is None else memory.total // MIB,
            temperature_c=_ask(
                nvml, nvml.nvmlDeviceGetTemperature, parent, nvml.NVML_TEMPERATURE_GPU
            ),
            power_w=_watts(_ask(nvml, nvml.nvmlDeviceGetPowerUsage, parent)),
            power_limit_w=_watts(_ask(nvml, nvml.nvmlDeviceGetEnforcedPowerLimit, parent)),
            memory_mib_of={
                process.pid: process.usedGpuMemory // MIB
                for process in _ask(nvml, nvml.nvmlDeviceGetComputeRunningProcesses, handle) or ()
                # None for MIG, and in containers.
                if process.usedGpuMemory is not None
            },
        )


def choose_uuids(nvml: Any, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the UUIDs of the GPUs, or MIG slices, that Slurm gave this job.

    Args:
        nvml: The library's module, initialised.
        environment: CUDA_VISIBLE_DEVICES names UUIDs or numbers; SLURM_JOB_GPUS names the numbers
            of the device files.

    Returns:
        The UUIDs; all visible GPUs if the node hides those of other jobs.

    Source:
        CUDA C Programming Guide, CUDA_VISIBLE_DEVICES; sbatch(1), SLURM_JOB_GPUS.
    """
    devices = list(_devices(nvml))
    named = [word.strip() for word in environment.get("CUDA_VISIBLE_DEVICES", "").split(",")]
    by_uuid = [word for word in named if word.startswith(("GPU-", "MIG-"))]
    if by_uuid:
        known = [uuid for device in devices for uuid in (device.uuid, *device.parts)]
        # CUDA accepts abbreviated UUIDs.
        return tuple(uuid for word in by_uuid for uuid in known if uuid.startswith(word))
    numbers = [
        word for word in environment.get("SLURM_JOB_GPUS", "").split(",") if word.isdecimal()
    ]
    # Otherwise Slurm names none, or the node shows only the job's own GPUs.
    if 0 < len(numbers) < len(devices):
        # By minor number: NVML's own index need not follow the device files.
        devices = [device for device in devices if str(device.minor) in numbers]
    return tuple(uuid for device in devices for uuid in (device.parts or (device.uuid,)))


@dataclass(frozen=True, slots=True)
class _Device:
    uuid: str
    minor: int | None
    parts: tuple[str, ...]


def _devices(nvml: Any) -> Iterator[_Device]:
    for index in range(nvml.nvmlDeviceGetCount()):
        handle = _ask(nvml, nvml.nvmlDeviceGetHandleByIndex, index)
        uuid = None if handle is None else _ask(nvml, nvml.nvmlDeviceGetUUID, handle)
        if uuid is not None:
            minor = _ask(nvml, nvml.nvmlDeviceGetMinorNumber, handle)
            yield _Device(_text(uuid), minor, tuple(_parts(nvml, handle)))


def _parts(nvml: Any, handle: Any) -> Iterator[str]:
    modes = _ask(nvml, nvml.nvmlDeviceGetMigMode, handle)
    # The current mode, then the one after the next reset.
    if modes is None or not modes[0]:
        return
    for index in range(_ask(nvml, nvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0):
        part = _ask(nvml, nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, index)
        uuid = None if part is None else _ask(nvml, nvml.nvmlDeviceGetUUID, part)
        if uuid is not None:
            yield _text(uuid)


def _ask(nvml: Any, function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except nvml.NVMLError:
        return None


def _watts(milliwatts: int | None) -> int | None:
    return None if milliwatts is None else round(milliwatts / 1000)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
