"""Findings from the jobs that look at GPUs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from portal.hub.settings.loader import Settings
from portal.site.checks.finding import Finding, ok, problem, skipped, warning
from portal.site.checks.framework_findings import assess_frameworks
from portal.site.checks.gpu_answers import AllReduce, GpuAnswer, parse_allreduce, parse_gpu_answer
from portal.site.checks.gpu_pair import GRACE_S, run_pair
from portal.site.checks.gpu_request import GpuRequest, gpu_requests
from portal.site.checks.gpu_test_job import LOOK_S, RANKS_S, run_gpu_test_job
from portal.site.checks.nvidia import parse_gpus
from portal.site.checks.test_job import CheckJobResult
from portal.site.checks.test_job_findings import assess_silence, job_node
from spawner.client.slurm import Slurm
from spawner.errors import JobRejectedError

_NO_PROGRAM = 127
_MIB = 1024 * 1024


def gpu_check_timeout_s(wait_s: float) -> float:
    """Return how many seconds the GPU check of a partition may take.

    One job for the GPUs of a node and then one on each of two nodes, each of which may wait in the
    queue for `wait_s`.
    """
    return (wait_s + LOOK_S) + (2 * wait_s + RANKS_S + GRACE_S)


async def check_gpus(
    slurm: Slurm, settings: Settings, *, user: str, partition: str, wait_s: float
) -> list[Finding]:
    """Check the GPUs of a partition: jobs for each type, all types at once.

    An empty `user` skips the check. Each job may wait in the queue for `wait_s`.

    Raises:
        SlurmError: If Slurm did not answer, or the launcher could not be run.
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
    try:
        trial = await run_gpu_test_job(slurm, settings, request, user=user, wait_s=wait_s)
        if (silence := assess_silence(trial, request.place)) is not None:
            return [silence]
        answer = parse_gpu_answer(trial.found or {})
        findings = assess_gpus(answer, settings, request, node=job_node(trial, request.place))
        # Ranks on two nodes are worth a try only if those on one node work.
        if request.nodes and answer.allreduce.backend and not answer.allreduce.failed:
            here = answer.allreduce
            pair = await run_pair(slurm, settings, request, here, user=user, wait_s=wait_s)
            findings.append(assess_pair(pair, request))
    except JobRejectedError as error:
        return [problem(f"Slurm refuses a job of {user} in {request.place}.", error.message)]
    return findings


def assess_gpus(
    answer: GpuAnswer, settings: Settings, request: GpuRequest, *, node: str
) -> list[Finding]:
    """Return what the answer of a node means; at least one finding."""
    place = f"{request.place}: {node}"
    if answer.is_real:
        hardware = _assess_driver(answer, request, place)
    else:
        hardware = [_assess_simulated(answer, settings, place)]
    return [
        *hardware,
        *assess_frameworks(answer, place),
        assess_allreduce(answer.allreduce, place, is_real=answer.is_real),
    ]


def _assess_simulated(answer: GpuAnswer, settings: Settings, place: str) -> Finding:
    given = [f"/dev/nvidia{number}" for number in answer.given]
    # Under ConstrainDevices the numbers of each job begin at 0, whichever files it may open.
    devices = [path for path in answer.devices if path in given] or list(answer.devices)
    what = " or ".join(devices) or "what Slurm calls a GPU"
    sentence = (
        f"{place}: simulated: {what} is no NVIDIA device; driver, CUDA and NCCL were not tried."
    )
    if settings.site.simulated_gpus:
        return skipped(sentence)
    return warning(
        sentence,
        "Install NVIDIA's driver there; on a site without real GPUs set simulated_gpus = true in"
        " [site].",
    )


def _assess_driver(answer: GpuAnswer, request: GpuRequest, place: str) -> list[Finding]:
    if answer.nvidia_smi_status:
        last = (answer.nvidia_smi.splitlines() or ["nothing"])[0]
        if answer.nvidia_smi_status == _NO_PROGRAM:
            said, cure = "there is no nvidia-smi", "Install NVIDIA's driver with its programs."
        # The new libraries do not fit the module that the kernel still has loaded.
        elif "version mismatch" in answer.nvidia_smi:
            said, cure = f"nvidia-smi says: {last}", "Reboot it: the driver was updated in use."
        else:
            said = f"nvidia-smi says: {last}"
            cure = "Install NVIDIA's driver for its kernel, or load it (modprobe nvidia); dmesg."
        return [problem(f"{place}: {said}.", cure)]
    gpus = parse_gpus(answer.nvidia_smi)
    findings = []
    if len(answer.given) < request.n_gpus:
        findings.append(
            problem(
                f"{place}: the job asked for {request.n_gpus} GPUs and CUDA_VISIBLE_DEVICES names"
                f" {len(answer.given)}.",
                "Give each GPU its File= in gres.conf (or AutoDetect=nvml) and restart slurmd.",
            )
        )
    closed = [f"{path} ({said})" for path, said in answer.devices.items() if said]
    # Files of GPUs outside the job may be closed, so only the number of open ones counts.
    if len(answer.devices) - len(closed) < len(answer.given) and not _has_parts(answer):
        findings.append(
            problem(
                f"{place}: of the job's GPUs not all device files open: {', '.join(closed)}.",
                "Compare File= in gres.conf with ls -l /dev/nvidia*; ConstrainDevices=yes in"
                " cgroup.conf needs them right. Users need rights to read and write them.",
            )
        )
    if not gpus:
        findings.append(
            problem(f"{place}: nvidia-smi lists no GPU.", "Look at dmesg, and at cgroup.conf.")
        )
    if not findings:
        names = ", ".join(sorted({gpu.name for gpu in gpus}))
        sentence = f"{place}: Slurm gave {len(answer.given)} of {names}, driver {gpus[0].driver}."
        findings.append(ok(sentence))
    return findings


def _has_parts(answer: GpuAnswer) -> bool:
    return any(name.startswith("MIG-") for name in answer.given)


def assess_allreduce(found: AllReduce, place: str, *, is_real: bool, n_nodes: int = 1) -> Finding:
    """Return what the result of an all-reduce means; the finding names the backend.

    `n_nodes` is the number of nodes of its two ranks.
    """
    if found.untried or (not found.backend and not found.failed):
        return skipped(f"{place}: no all-reduce was tried: {found.untried or 'nobody answered'}.")
    through = "NCCL" if found.backend == "nccl" else "Gloo, on cores"
    if found.failed or not found.is_right:
        why = found.failed or "the sum is wrong"
        return warning(f"{place}: an all-reduce through {through} fails: {why}.", _cure(n_nodes))
    ranks = "2 GPUs" if is_real else "2 processes"
    return ok(
        f"{place}: all-reduce of {found.n_bytes // _MIB} MiB over {ranks} through {through}:"
        f" {found.bus_gb_per_s:.3g} GB/s bus bandwidth (kernel {found.kernel})."
    )


def _cure(n_nodes: int) -> str:
    if n_nodes > 1:
        return (
            "Let the nodes reach each other on all TCP ports; then run it again with"
            " NCCL_DEBUG=INFO and look at which network it takes (NCCL_SOCKET_IFNAME, NCCL_IB_HCA)."
        )
    return (
        "Run a training on two GPUs with NCCL_DEBUG=INFO; the usual causes are a small /dev/shm,"
        " PCI access control (ACS, IOMMU) and a driver older than the card."
    )


def assess_pair(trials: Sequence[CheckJobResult], request: GpuRequest) -> Finding:
    """Return what the jobs on two nodes mean; rank 0 comes first."""
    names = " and ".join(node.name for node in request.nodes)
    place = f"{request.place}: {names}"
    for trial in trials:
        if (silence := assess_silence(trial, place)) is not None:
            return silence
    answers = [parse_allreduce(trial.found or {}) for trial in trials]
    failed = [one for one in answers if one.failed]
    # Rank 0 has the result, but either rank can fail.
    found = (failed or answers)[0]
    return assess_allreduce(found, place, is_real=found.backend == "nccl", n_nodes=2)
