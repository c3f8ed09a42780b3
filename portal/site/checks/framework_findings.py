"""Findings about the kernels' frameworks and their GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from portal.site.checks.finding import Finding, ok, problem, skipped, warning
from portal.site.checks.gpu_answers import Framework, GpuAnswer, Kernel
from portal.site.checks.nvidia import is_too_old, needed_driver, parse_gpus, to_text

_NAMES = {"torch": "PyTorch", "tensorflow": "TensorFlow", "horovod": "Horovod"}
# Parts of a framework's message, and the cure that each leads to.
_CURES = (
    (
        ("no kernel image", "sm_"),
        "The GPU is too old for this build. Build the environment with a version that supports it.",
    ),
    (
        ("driver version is insufficient", "forward compatibility"),
        "Install a newer driver; after an update of it, reboot.",
    ),
    (
        ("out of memory", "busy or unavailable", "CUDA_ERROR_OUT_OF_MEMORY"),
        "Something else uses the GPU: nvidia-smi names it. ConstrainDevices=yes in cgroup.conf"
        " keeps jobs from GPUs of others; a GPU of a job should be Default, not Prohibited.",
    ),
    (
        ("dlopen", "Cannot dlopen"),
        "Libraries of CUDA are missing: build the environment again, flavour gpu.",
    ),
)
_NO_GPU = (
    "Start a session and run nvidia-smi -L in a terminal: where it lists the GPUs, build the"
    " environment again, flavour gpu; else look at gres.conf and cgroup.conf."
)
_FLAVOUR = (
    "Build it with CUDA: 'deploy/environments/build --flavour gpu', or deploy/site/install without"
    " --cpu."
)


def assess_frameworks(answer: GpuAnswer, place: str) -> list[Finding]:
    """Return what the kernels' frameworks report.

    `place` is the node as sentences name it.

    Returns:
        A finding for each fault, and one about what is in order; at least one.
    """
    faults: list[Finding] = []
    good: list[str] = []
    for name, kernel in answer.kernels.items():
        if kernel.failed:
            faults.append(
                problem(
                    f"{place}: the Python of the kernel {name} did not respond: {kernel.failed}.",
                    "Start it by hand there; check the share that it is on, or build it again.",
                )
            )
        for framework in kernel.frameworks:
            found = list(_assess(answer, name, kernel, framework, place))
            faults += found
            if not found:
                good.append(_describe(answer, framework))
    if good:
        return [*faults, ok(f"{place}: {'; '.join(good)}.")]
    return faults or [skipped(f"{place}: no kernel has TensorFlow or PyTorch.")]


def _describe(answer: GpuAnswer, framework: Framework) -> str:
    title = f"{_NAMES.get(framework.name, framework.name)} {framework.version}"
    if framework.name == "horovod":
        return f"{title} averages {'through NCCL' if framework.has_nccl else 'on cores'}"
    if not answer.is_real:
        return f"{title} is imported and sees 0 GPUs"
    return f"{title} (CUDA {framework.cuda}) computes on {framework.n_gpus}"


def _assess(
    answer: GpuAnswer, name: str, kernel: Kernel, framework: Framework, place: str
) -> Iterator[Finding]:
    title = f"{_NAMES.get(framework.name, framework.name)} of the kernel {name}"
    if framework.failed or not framework.version:
        yield problem(
            f"{place}: {title} is not imported: {framework.failed or 'no version'}.",
            "Build the environment again; a system library that it names is missing there.",
        )
    # No framework sees a simulated GPU, and none could: being imported is all that is asked.
    elif not answer.is_real:
        return
    elif framework.name == "horovod":
        if not framework.has_nccl:
            yield warning(
                f"{place}: {title} averages gradients through the memory of the host.",
                "Build Horovod with NCCL; PyTorch's DistributedDataParallel uses NCCL by itself.",
            )
    elif not framework.cuda:
        yield problem(f"{place}: {title} was built without CUDA and sees no GPU.", _FLAVOUR)
    # Asked before the number of GPUs, which an old driver makes zero.
    elif is_too_old(driver := _driver(answer), framework.cuda):
        needed = to_text(needed_driver(framework.cuda))
        yield problem(
            f"{place}: {title} was built for CUDA {framework.cuda}, which needs driver {needed} or"
            f" newer; there is {driver}.",
            f"Install driver {needed} or newer on the nodes, or pin a {title.split()[0]} for an"
            " older CUDA.",
        )
    elif framework.n_gpus < (expected := _expected(answer)):
        why = framework.said or kernel.reason or "no reason given"
        yield problem(
            f"{place}: {title} computes on {framework.n_gpus} of {expected} GPUs: {why}.",
            _cure(why),
        )


def _cure(why: str) -> str:
    # A message may fit several; the first in the list counts.
    return next((cure for words, cure in _CURES if any(word in why for word in words)), _NO_GPU)


def _driver(answer: GpuAnswer) -> str:
    gpus = parse_gpus(answer.nvidia_smi)
    return gpus[0].driver if gpus else ""


def _expected(answer: GpuAnswer) -> int:
    # Source: CUDA C++ Programming Guide, MIG: a program uses one part of a GPU.
    is_part = any(one.startswith("MIG-") for one in answer.given)
    return 1 if is_part else len(answer.given)
