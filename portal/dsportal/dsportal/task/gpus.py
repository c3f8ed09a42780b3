"""Which GPUs a rank sees, out of those that Slurm shows to all ranks of its node.

MIG instances (parts of a GPU) differ from whole GPUs: a CUDA process uses only one, the first that
it sees. Numbers name GPUs and not their instances, so instances need their UUIDs.
"""

import re
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from dsportal.errors import StepError
from dsportal.task.placement import Placement

VISIBLE = "CUDA_VISIBLE_DEVICES"
CAPABILITIES = Path("/proc/driver/nvidia/capabilities")
NVIDIA_SMI_TIMEOUT_S = 30
_WHOLE_GPU = re.compile(r"^GPU .*\n(?!\s+MIG )", re.MULTILINE)
_MIG_DEVICE = re.compile(r"^\s+MIG .*\(UUID:\s*(MIG-[\w/-]+)\)", re.MULTILINE)


def visible_gpus(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the GPUs in CUDA_VISIBLE_DEVICES: numbers, or UUIDs of GPUs or of MIG instances.

    Words that name no GPU, such as Slurm's "NoDevFiles", are left out.

    Source:
        CUDA C++ Programming Guide, CUDA_VISIBLE_DEVICES.
    """
    words = (word.strip() for word in environ.get(VISIBLE, "").split(","))
    return tuple(word for word in words if word.isdecimal() or word.startswith(("GPU-", "MIG-")))


def name_mig(
    environ: Mapping[str, str],
    capabilities: Path = CAPABILITIES,
    nvidia_smi: str = "nvidia-smi",
) -> dict[str, str]:
    """Return an environment that names MIG instances by their UUIDs.

    Args:
        capabilities: The driver's folder, which has a file for each MIG instance of the node.

    Returns:
        The same, but with UUIDs instead of numbers if the node has MIG and the driver shows this
        job as many instances as Slurm gave it. A site whose gres.conf lists the device files of MIG
        by hand gets numbers from Slurm.

    Source:
        gres.html, "MIG Management", Slurm 22.05; NVIDIA MIG User Guide, "Device Nodes and
        Capabilities".
    """
    numbers = visible_gpus(environ)
    has_uuids = any(not name.isdecimal() for name in numbers)
    # With one GPU there is nothing to choose.
    if len(numbers) < 2 or has_uuids or not any(capabilities.glob("gpu*/mig/gi*")):
        return dict(environ)
    uuids: tuple[str, ...] = ()
    with suppress(OSError, subprocess.SubprocessError):
        listing = subprocess.run(
            [nvidia_smi, "-L"],
            capture_output=True,
            text=True,
            timeout=NVIDIA_SMI_TIMEOUT_S,
            check=True,
        ).stdout
        uuids = parse_mig(listing)
    return {**environ, VISIBLE: ",".join(uuids)} if len(uuids) == len(numbers) else dict(environ)


def parse_mig(listing: str) -> tuple[str, ...]:
    """Return the UUIDs of MIG instances that `nvidia-smi -L` lists, in its order.

    Such as "MIG-63feeb45-94c6-51fc-be72-dd5d5f1db02a"; empty if a whole GPU is listed too, because
    a number may then mean that.
    """
    if _WHOLE_GPU.search(listing):
        return ()
    return tuple(_MIG_DEVICE.findall(listing))


def gpu_variables(
    placement: Placement, gpus: Sequence[str], *, simulated_gpus: bool, one_gpu_each: bool
) -> dict[str, str]:
    """Return the variables that show a rank its GPU.

    Args:
        gpus: What Slurm shows to the ranks of the node, from `visible_gpus`.
        one_gpu_each: True to show each rank only its own GPU; otherwise it sees those of all ranks
            of the node, and LOCAL_RANK is the index of its own.

    Returns:
        CUDA_VISIBLE_DEVICES. A MIG instance is always shown alone, and LOCAL_RANK is then 0.

    Source:
        NVIDIA MIG User Guide, "CUDA Device Enumeration": of several compute instances that are
        visible CUDA uses the first.
    """
    if placement.local_size > len(gpus):
        if simulated_gpus:
            return {}
        raise StepError(
            f"Node {placement.node} has {placement.local_size} ranks and Slurm shows them "
            f"{len(gpus)} GPUs ({VISIBLE}). Each rank needs its own: tell the administrators."
        )
    own = gpus[placement.local_rank]
    if one_gpu_each:
        return {VISIBLE: own}
    if own.startswith("MIG-"):
        return {VISIBLE: own, "LOCAL_RANK": "0"}
    return {VISIBLE: ",".join(gpus[: placement.local_size])}
