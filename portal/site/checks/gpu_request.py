"""Which GPUs a check of a partition requests from Slurm, and the job that gets them."""

import math
import re
from dataclasses import dataclass

from portal.hub.settings.loader import Settings
from spawner.slurm.catalog import Catalog
from spawner.slurm.gres import SHARD
from spawner.slurm.job_script import Job
from spawner.slurm.nodes import Node

# Two ranks show that GPUs reach each other; more would only wait longer in the queue.
MOST_GPUS = 2
# Less than a session has, so that the job fits in with others.
MOST_CORES_PER_GPU = 2
MOST_MIB_PER_GPU = 6144
SECONDS_PER_MINUTE = 60
# Source: MIG User Guide of NVIDIA, "MIG Profile Names", as Slurm takes them for types.
_MIG_PROFILE = re.compile(r"[0-9]+g\.[0-9]+gb.*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuRequest:
    """The GPUs that a job requests.

    Attributes:
        gpu_type: Slurm's name of their type; empty for any.
        n_gpus: 1 or more.
    """

    partition: str
    gpu_type: str
    n_gpus: int

    @property
    def place(self) -> str:
        """The partition and the type, for sentences."""
        return f"{self.partition}, {self.gpu_type}" if self.gpu_type else self.partition


def gpu_requests(catalog: Catalog, settings: Settings, partition: str) -> list[GpuRequest]:
    """Return a request for each type of GPU that a partition offers."""
    if partition not in catalog.partitions:
        return []
    kinds = catalog.gpu_types(partition)
    offered = settings.choices.gpu_types
    kinds = tuple(kind for kind in kinds if not offered or kind in offered)
    if not kinds and not offered:
        # Slurm need not name types; then any GPU stands for all.
        kinds = ("",)
    requests = (_request(catalog, settings, partition, kind) for kind in kinds)
    return [request for request in requests if request is not None]


def _request(
    catalog: Catalog, settings: Settings, partition: str, gpu_type: str
) -> GpuRequest | None:
    largest = max((_usable(node, gpu_type) for node in catalog.nodes(partition)), default=0)
    if largest <= 0:
        return None
    # Of a GPU that is shared or cut into parts, a program sees one.
    is_part = gpu_type == SHARD or _MIG_PROFILE.fullmatch(gpu_type)
    most = 1 if is_part else min(MOST_GPUS, settings.choices.max_gpus or MOST_GPUS)
    return GpuRequest(partition=partition, gpu_type=gpu_type, n_gpus=min(most, largest))


def _usable(node: Node, gpu_type: str) -> int:
    count = node.count_gpus(gpu_type or None)
    # Busy ones count: the job may wait for them, but not for a node that is down.
    return count.total - count.down


def build_gpu_job(
    settings: Settings, request: GpuRequest, *, name: str, script: str, walltime_s: float
) -> Job:
    """Return a job that requests GPUs, and runs `script` for at most `walltime_s`."""
    rule = settings.partitions[request.partition]
    cores = rule.cores_per_gpu or settings.resources.cores_per_gpu
    memory_mib = rule.shape.get("memory_mib_per_gpu", settings.resources.memory_mib_per_gpu)
    counted = f"{request.gpu_type}:{request.n_gpus}" if request.gpu_type else str(request.n_gpus)
    argv = (
        f"--job-name={name}",
        f"--partition={request.partition}",
        "--nodes=1",
        "--ntasks=1",
        f"--cpus-per-task={min(cores, MOST_CORES_PER_GPU) * request.n_gpus}",
        f"--mem={min(memory_mib, MOST_MIB_PER_GPU) * request.n_gpus}M",
        # Slurm takes minutes; rounded down it would end the job early.
        f"--time={math.ceil(walltime_s / SECONDS_PER_MINUTE)}",
        "--no-requeue",
        # A shard is a GRES of its own, which --gpus-per-node cannot ask for.
        f"--gres=shard:{request.n_gpus}"
        if request.gpu_type == SHARD
        else f"--gpus-per-node={counted}",
    )
    return Job(argv=argv, script=script)
