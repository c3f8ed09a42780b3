"""Typed answers of the programs that look at a node's GPUs.

The jobs run as a user, who could have printed anything: a value of the wrong form counts as
missing, and control characters, which could move a terminal's cursor, are removed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

N_LETTERS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """What one framework reported.

    Attributes:
        name: "torch", "tensorflow" or "horovod".
        version: Empty if it could not be imported.
        cuda: Version of CUDA that it was built for; empty if none.
        n_gpus: GPUs on which it computed.
        said: Why a GPU did not compute; empty if all did.
        failed: Why it could not be imported; empty if it could.
    """

    name: str
    version: str = ""
    cuda: str = ""
    n_gpus: int = 0
    has_nccl: bool = False
    said: str = ""
    failed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """What a kernel's Python reported.

    Attributes:
        frameworks: Those that are installed in it.
        reason: What a framework wrote about CUDA; empty if nothing.
        failed: Why there is no report; empty if there is one.
    """

    frameworks: tuple[Framework, ...] = ()
    reason: str = ""
    failed: str = ""

    def framework(self, name: str) -> Framework | None:
        """Return what a framework reported; None if it is not installed or cannot be imported.

        `name` is its module.
        """
        return next((one for one in self.frameworks if one.name == name and one.version), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllReduce:
    """Result of an all-reduce.

    Attributes:
        kernel: The kernel whose PyTorch has to be used; empty if none.
        backend: "nccl", or "gloo" on cores; empty if nothing can be tried.
        n_bytes: Length of the message of each rank.
        bus_gb_per_s: Bus bandwidth in 10^9 bytes a second; 0 if nothing was measured.
        failed: Why it failed; empty if it did not.
        untried: Why it was not tried; empty if it was.
    """

    kernel: str = ""
    backend: str = ""
    n_bytes: int = 0
    bus_gb_per_s: float = 0.0
    is_right: bool = False
    failed: str = ""
    untried: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuAnswer:
    """What a job found out about its GPUs.

    Attributes:
        is_real: There is an NVIDIA GPU, or a sign of one.
        given: GPUs that Slurm gave, as CUDA_VISIBLE_DEVICES names them.
        devices: What is wrong with each device file, by its path; empty if nothing.
        nvidia_smi_status: Exit status of nvidia-smi; 127 if there is none.
        nvidia_smi: What it printed.
        kernels: What each Python kernel reported, by name.
        allreduce: Result of an all-reduce on this node.
    """

    is_real: bool = False
    given: tuple[str, ...] = ()
    devices: Mapping[str, str] = field(default_factory=dict)
    nvidia_smi_status: int = 127
    nvidia_smi: str = ""
    kernels: Mapping[str, Kernel] = field(default_factory=dict)
    allreduce: AllReduce = AllReduce()


def parse_gpu_answer(found: Mapping[str, Any]) -> GpuAnswer:
    """Return the answer of `gpu_probe` as typed values.

    Args:
        found: The JSON object that it printed.
    """
    smi = _table(found.get("nvidia_smi"))
    given = found.get("given")
    return GpuAnswer(
        is_real=found.get("is_real") is True,
        given=tuple(_word(one) for one in given) if isinstance(given, list) else (),
        devices={_word(path): _word(said) for path, said in _table(found.get("devices")).items()},
        nvidia_smi_status=int(_number(smi.get("rc"), 127)),
        nvidia_smi=str(smi.get("said", "")),
        kernels={
            _word(name): _parse_kernel(_table(one))
            for name, one in _table(found.get("kernels")).items()
        },
        allreduce=parse_allreduce(_table(found.get("allreduce"))),
    )


def parse_allreduce(found: Mapping[str, Any]) -> AllReduce:
    """Return the answer of `rank_starter` as typed values.

    Args:
        found: The JSON object that it printed.
    """
    backend = _word(found.get("backend"))
    return AllReduce(
        kernel=_word(found.get("kernel")),
        backend=backend if backend in {"nccl", "gloo"} else "",
        n_bytes=int(_number(found.get("n_bytes"), 0)),
        bus_gb_per_s=_number(found.get("bus_gb_per_s"), 0),
        is_right=found.get("is_right") is True,
        failed=_word(found.get("failed")),
        untried=_word(found.get("untried")),
    )


def _parse_kernel(found: Mapping[str, Any]) -> Kernel:
    frameworks = _table(found.get("frameworks"))
    return Kernel(
        frameworks=tuple(_parse_framework(name, _table(one)) for name, one in frameworks.items()),
        reason=_word(found.get("reason")),
        failed=_word(found.get("failed")),
    )


def _parse_framework(name: str, found: Mapping[str, Any]) -> Framework:
    return Framework(
        name=_word(name),
        version=_word(found.get("version")),
        cuda=_word(found.get("cuda")),
        n_gpus=int(_number(found.get("gpus"), 0)),
        has_nccl=found.get("nccl") is True,
        said=_word(found.get("said")),
        failed=_word(found.get("failed")),
    )


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _word(value: object) -> str:
    text = "" if value is None else str(value)
    return "".join(letter if letter.isprintable() else " " for letter in text)[:N_LETTERS].strip()


def _number(value: object, otherwise: float) -> float:
    # JSON's true is an int in Python; NaN and Infinity, which json accepts, fail the comparison.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and abs(value) < 1e18 else otherwise  # type: ignore[arg-type,return-value]
