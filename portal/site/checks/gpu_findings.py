"""The check of a partition's GPUs: a job for each type, and what its answer means."""

import asyncio
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from portal.hub.session_environment import public_variables
from portal.hub.settings.loader import Settings
from portal.site.checks import gpu_probe
from portal.site.checks.finding import Finding, Grade, Saying, problem, read_rows, skipped
from portal.site.checks.node_findings import assess_silence, job_node
from portal.site.checks.test_job import (
    check_job_environment,
    new_name,
    program_script,
    run_check_job,
)
from spawner.client.slurm import Slurm
from spawner.errors import JobRejectedError
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


# The shortest ones that use all GPUs of a session, and one of them, by what their kernel must
# have: not every site has Horovod. The first that can run does.
TEMPLATES = {"horovod/digits.ipynb": "horovod", "pytorch/digits.ipynb": "torch"}
# The longest that the program on the node looks, and a minute for Slurm to start and to end it.
LOOK_S = (
    gpu_probe.NVIDIA_SMI_S + gpu_probe.DCGMI_S + gpu_probe.TEMPLATE_S + gpu_probe.COUNT_S + 60.0
)
_NO_GPU = (
    "Start a session and run nvidia-smi -L in a terminal: where it lists the GPUs, build the"
    " environment again for the driver's CUDA, 'deploy/environments/build --flavour gpu' or"
    " deploy/site/install without --cpu; else look at gres.conf and cgroup.conf."
)
# By the first word of a row of `gpu_probe`: {0} is the second, {1} the third.
SAYINGS: Mapping[str, Saying] = {
    "simulated": (
        Grade.SKIPPED,
        "{node}: the GPUs are simulated; NVIDIA's driver, CUDA and NCCL were not tried.",
        "",
    ),
    "no smi": (
        Grade.WARNING,
        "{node}: there is no nvidia-smi.",
        "Install NVIDIA's driver with its programs. On a site without real GPUs set"
        " simulated_gpus = true in [site].",
    ),
    "smi": (
        Grade.PROBLEM,
        "{node}: nvidia-smi says: {0}.",
        "Install NVIDIA's driver for its kernel, or load it (modprobe nvidia). dmesg has the"
        " driver's messages (Xid).",
    ),
    "smi updated": (
        Grade.PROBLEM,
        "{node}: nvidia-smi says: {0}.",
        "Reboot it: the driver was updated in use.",
    ),
    "gpus": (Grade.OK, "{node}: Slurm gave {0} of {1}, driver {2}, MIG {3}.", ""),
    "given": (
        Grade.PROBLEM,
        "{node}: the job asked for {0} GPUs and CUDA_VISIBLE_DEVICES names {1}.",
        "Give each GPU its File= in gres.conf (or AutoDetect=nvml) and restart slurmd.",
    ),
    "listed": (
        Grade.PROBLEM,
        "{node}: Slurm gave {0} GPUs, and nvidia-smi lists {1}.",
        "Compare File= in gres.conf with ls -l /dev/nvidia*, look at cgroup.conf and dmesg.",
    ),
    "ecc": (
        Grade.WARNING,
        "{node}: {0} has had {1} uncorrected ECC errors since the driver was loaded.",
        "Drain the node and reset the GPU (nvidia-smi -r). Replace it if they come again.",
    ),
    "row failure": (
        Grade.PROBLEM,
        "{node}: {0} cannot replace a row of its memory.",
        "Have the card replaced.",
    ),
    "row pending": (
        Grade.WARNING,
        "{node}: {0} has a row of its memory to replace.",
        "Drain the node and reset the GPU.",
    ),
    "persistence": (
        Grade.WARNING,
        "{node}: {0} has persistence mode off: each job first waits for the driver.",
        "systemctl enable --now nvidia-persistenced",
    ),
    "dcgm away": (
        Grade.SKIPPED,
        "{node}: dcgmi does not reach its service: {0}.",
        "systemctl start nvidia-dcgm",
    ),
    "dcgm": (Grade.WARNING, "{node}: dcgmi diag -r 1: {0}.", "Run it there as root."),
    "dcgm well": (Grade.OK, "{node}: dcgmi diag -r 1 finds no fault.", ""),
    "untried": (Grade.SKIPPED, "{node}: no template was run: {0}.", ""),
    "template failed": (
        Grade.PROBLEM,
        "{node}: the template {0} does not run with the kernel {1}: {2}.",
        "Open it in a session there and run it, which shows the cell that fails.",
    ),
    "template on cores": (
        Grade.OK,
        "{node}: the template {0} ran in {1} s on cores, with {2}.",
        "",
    ),
    "template lacks": (
        Grade.PROBLEM,
        "{node}: the template {0} ran in {1} s, but its kernel {2} finds {3} of {4} GPUs: {5}.",
        _NO_GPU,
    ),
    "template": (
        Grade.OK,
        "{node}: the template {0} ran in {1} s with {3}, which its kernel {2} finds.",
        "",
    ),
}


def gpu_probe_input(settings: Settings, n_gpus: int) -> dict[str, Any]:
    """Return the JSON object that `gpu_probe` reads."""
    return {
        "server": str(settings.environments.server),
        "templates": str(settings.storage.templates),
        "templates_by_name": TEMPLATES,
        "is_simulated": settings.site.simulated_gpus,
        "n_gpus": n_gpus,
        "variables": public_variables(settings) | {"PORTAL_N_GPUS": str(n_gpus)},
    }


async def check_gpus(
    slurm: Slurm, settings: Settings, *, user: str, partition: str, wait_s: float
) -> list[Finding]:
    """Check the GPUs of a partition: a job for each type, all types at once.

    An empty `user` skips the check. Each job may wait in the queue for `wait_s`.
    """
    if not user:
        return [
            skipped(f"no GPU was tried in {partition}.", "Name a user of the portal: --user NAME.")
        ]
    requests = gpu_requests(await slurm.read_catalog(), settings, partition)
    if not requests:
        return [skipped(f"{partition} has no GPU that a job could get.", "sinfo -R shows why.")]
    looks = [_check_one(slurm, settings, one, user=user, wait_s=wait_s) for one in requests]
    return [finding for findings in await asyncio.gather(*looks) for finding in findings]


async def _check_one(
    slurm: Slurm, settings: Settings, request: GpuRequest, *, user: str, wait_s: float
) -> list[Finding]:
    name, script = new_name(), program_script(gpu_probe)
    job = build_gpu_job(settings, request, name=name, script=script, walltime_s=LOOK_S)
    question = gpu_probe_input(settings, request.n_gpus)
    try:
        trial = await run_check_job(
            slurm,
            job,
            check_job_environment(settings, question),
            name=name,
            user=user,
            wait_s=wait_s,
            look_s=LOOK_S,
        )
    except JobRejectedError as error:
        return [problem(f"Slurm refuses a job of {user} in {request.place}.", error.message)]
    if (silence := assess_silence(trial, request.place)) is not None:
        return [silence]
    place = f"{request.place}: {job_node(trial, request.place)}"
    return read_rows((trial.found or {}).get("rows") or None, SAYINGS, node=place)
