"""The check of a partition's GPUs: a job for each type, and what its answer means."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

from dsportal.amounts import count
from portal.hub.session_environment import public_variables
from portal.hub.settings.loader import Settings
from portal.site.checks import gpu_probe
from portal.site.checks.finding import Finding, ok, problem, skipped, warning
from portal.site.checks.gpu_request import GpuRequest, build_gpu_job, gpu_requests
from portal.site.checks.test_job import (
    check_job_environment,
    new_name,
    program_script,
    run_check_job,
)
from portal.site.checks.test_job_findings import assess_silence, job_node
from spawner.client.slurm import Slurm
from spawner.errors import JobRejectedError

# The shortest ones that use all GPUs of a session, and one of them, by what their kernel must
# have: not every site has Horovod. The first that can run does.
TEMPLATES = {"horovod/digits.ipynb": "horovod", "pytorch/digits.ipynb": "torch"}
# The longest that the program on the node looks, and a minute for Slurm to start and to end it.
LOOK_S = (
    gpu_probe.NVIDIA_SMI_S + gpu_probe.DCGMI_S + gpu_probe.TEMPLATE_S + gpu_probe.COUNT_S + 60.0
)
_N_LETTERS = 300
_NO_GPU = (
    "Start a session and run nvidia-smi -L in a terminal: where it lists the GPUs, build the"
    " environment again for the driver's CUDA, 'deploy/environments/build --flavour gpu' or"
    " deploy/site/install without --cpu; else look at gres.conf and cgroup.conf."
)


def gpu_probe_input(settings: Settings, n_gpus: int) -> dict[str, Any]:
    """Return the JSON object that `gpu_probe` reads."""
    return {
        "server": str(settings.environments.server),
        "templates": str(settings.storage.templates),
        "templates_by_name": TEMPLATES,
        "is_simulated": settings.site.simulated_gpus,
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
    return assess_gpus(trial.found or {}, request, place, settings)


def assess_gpus(
    found: Mapping[str, Any], request: GpuRequest, place: str, settings: Settings
) -> list[Finding]:
    """Return what the answer of a node means; at least one finding.

    `found` is what a user's job printed, so any value may be missing or have another type; `place`
    is the node as sentences name it.
    """
    is_simulated = settings.site.simulated_gpus
    raw = found.get("given")
    given = [_word(one) for one in raw] if isinstance(raw, list) else []
    template = _assess_template(_table(found.get("template")), given, place, is_simulated)
    if is_simulated:
        what = f"{place}: the GPUs are simulated; NVIDIA's driver, CUDA and NCCL were not tried."
        return [skipped(what), template]
    smi, dcgmi = _table(found.get("nvidia_smi")), _table(found.get("dcgmi"))
    return [
        *_assess_nvidia_smi(smi, given, request, place),
        *(_assess_dcgmi(dcgmi, place) if dcgmi else ()),
        template,
    ]


def _assess_nvidia_smi(
    smi: Mapping[str, Any], given: list[str], request: GpuRequest, place: str
) -> list[Finding]:
    if smi.get("status") == gpu_probe.NO_PROGRAM:
        return [
            warning(
                f"{place}: there is no nvidia-smi.",
                "Install NVIDIA's driver with its programs. On a site without real GPUs set"
                " simulated_gpus = true in [site].",
            )
        ]
    if "gpus" not in smi:
        said = _word(smi.get("failed")) or "nothing"
        # The new libraries do not fit the module that the kernel still has loaded.
        is_updated = "version mismatch" in said
        cure = (
            "Reboot it: the driver was updated in use."
            if is_updated
            else "Install NVIDIA's driver for its kernel, or load it (modprobe nvidia). dmesg has"
            " the driver's messages (Xid)."
        )
        return [problem(f"{place}: nvidia-smi says: {said.rstrip('.')}.", cure)]
    gpus = [_table(one) for one in smi["gpus"]] if isinstance(smi["gpus"], list) else []
    found = [*_assess_number(len(gpus), given, request, place)]
    found += [fault for gpu in gpus for fault in _assess_state(gpu, place)]
    if found:
        return found
    names = ", ".join(sorted({_word(gpu.get("name")) for gpu in gpus}))
    mig = ", ".join(sorted({_word(gpu.get("mig")) for gpu in gpus}))
    gave = f"{place}: Slurm gave {len(given)} of {names}, driver {_word(smi.get('driver'))}"
    return [ok(f"{gave}, MIG {mig or 'unknown'}.")]


def _assess_number(
    n_listed: int, given: list[str], request: GpuRequest, place: str
) -> Iterator[Finding]:
    if len(given) < request.n_gpus:
        yield problem(
            f"{place}: the job asked for {request.n_gpus} GPUs and CUDA_VISIBLE_DEVICES names"
            f" {len(given)}.",
            "Give each GPU its File= in gres.conf (or AutoDetect=nvml) and restart slurmd.",
        )
    # Of a GPU that is cut into parts (MIG) the whole is listed.
    if n_listed < (1 if _has_parts(given) else len(given)):
        yield problem(
            f"{place}: Slurm gave {len(given)} GPUs, and nvidia-smi lists {n_listed}.",
            "Compare File= in gres.conf with ls -l /dev/nvidia*, look at cgroup.conf and dmesg.",
        )


def _assess_state(gpu: Mapping[str, Any], place: str) -> Iterator[Finding]:
    name = f"{place}: {_word(gpu.get('name')) or 'a GPU'}"
    if n_errors := gpu.get("n_uncorrected"):
        yield warning(
            f"{name} has had {_word(n_errors)} uncorrected ECC errors since the driver was loaded.",
            "Drain the node and reset the GPU (nvidia-smi -r). Replace it if they come again.",
        )
    if gpu.get("row_failure") == "Yes":
        yield problem(f"{name} cannot replace a row of its memory.", "Have the card replaced.")
    elif gpu.get("row_pending") == "Yes":
        yield warning(
            f"{name} has a row of its memory to replace.", "Drain the node and reset the GPU."
        )
    if gpu.get("persistence") == "Disabled":
        yield warning(
            f"{name} has persistence mode off: each job first waits for the driver.",
            "systemctl enable --now nvidia-persistenced",
        )


def _assess_dcgmi(dcgmi: Mapping[str, Any], place: str) -> Iterator[Finding]:
    said = _word(dcgmi.get("said"))
    if "connect" in said:
        yield skipped(
            f"{place}: dcgmi does not reach its service: {said}.", "systemctl start nvidia-dcgm"
        )
    elif dcgmi.get("status") != 0 or said:
        why = said or f"exit status {_word(dcgmi.get('status'))}"
        yield warning(f"{place}: dcgmi diag -r 1: {why}.", "Run it there as root.")
    else:
        yield ok(f"{place}: dcgmi diag -r 1 finds no fault.")


def _assess_template(
    found: Mapping[str, Any], given: list[str], place: str, is_simulated: bool
) -> Finding:
    if "failed" not in found:
        why = _word(found.get("untried")) or "nobody answered"
        return skipped(f"{place}: no template was run: {why}.")
    name, kernel = _word(found.get("name")), _word(found.get("kernel"))
    ran = f"{place}: the template {name}"
    if failed := _word(found.get("failed")):
        return problem(
            f"{ran} does not run with the kernel {kernel}: {failed.rstrip('.')}.",
            "Open it in a session there and run it, which shows the cell that fails.",
        )
    took = f"{ran} ran in {_word(found.get('took_s'))} s"
    if is_simulated:
        return ok(f"{took} on cores, with {count(len(given), 'simulated GPU')}.")
    # Source: CUDA C++ Programming Guide, MIG: a program uses one part of a GPU.
    expected, n_gpus = (1 if _has_parts(given) else len(given)), found.get("n_gpus")
    if not isinstance(n_gpus, int) or n_gpus < expected:
        why = _word(found.get("said")) or "no reason given"
        return problem(
            f"{took}, but its kernel {kernel} finds {_word(n_gpus)} of {expected} GPUs:"
            f" {why.rstrip('.')}.",
            _NO_GPU,
        )
    return ok(f"{took} with {count(n_gpus, 'GPU')}, which its kernel {kernel} finds.")


def _has_parts(given: list[str]) -> bool:
    return any(name.startswith("MIG-") for name in given)


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _word(value: object) -> str:
    # Control characters could move a terminal's cursor.
    text = "" if value is None else str(value)
    return "".join(letter if letter.isprintable() else " " for letter in text)[:_N_LETTERS].strip()
