"""Training: images/s of each network in each number format, and by the size of the batch."""

from __future__ import annotations

import gc

import torch

from tests.lab.gpu.bench import Bench, OutOfTimeError
from tests.lab.gpu.models import Network
from tests.lab.gpu.networks import (
    BY_NAME,
    NETWORKS,
    Load,
    Training,
    forget_memory,
    halved,
    load_of,
    n_parameters,
)
from tests.lab.gpu.precisions import Precision, allow_tf32

LARGEST_BATCH = 1024
SWEEP_ROUND_S = 0.25
# FP32 keeps 24 bits of a number, TF32 11.
LEAST_TF32_ERROR, MOST_FP32_ERROR = 1e-4, 1e-5


def measure_precisions(bench: Bench) -> None:
    """Every network in every number format."""
    for network in NETWORKS:
        n = n_parameters(network)
        bench.found.check(
            f"{network.title} has {network.n_parameters:,} parameters",
            n == network.n_parameters,
            f"{n:,}",
        )
    check_tf32(bench)
    for network in NETWORKS:
        for precision in Precision:
            what = f"training {network.title} in {precision.value}"
            if why := precision.why_not(bench.device):
                bench.found.untried(what, why)
                continue
            try:
                _measure(network, precision, bench)
            except OutOfTimeError:
                bench.found.untried(what, "the time for this part was over")


def check_tf32(bench: Bench) -> None:
    """Whether the settings of TF32 do what the labels say: TF32 loses digits, FP32 does not."""
    if why := Precision.TF32.why_not(bench.device):
        bench.found.untried("TF32", why)
        return
    n = min(1024, bench.sizes.matrix)
    a, b = (torch.randn(n, n, device=bench.device) for _ in range(2))
    exact = a.double() @ b.double()
    errors = []
    for is_allowed in (False, True):
        allow_tf32(is_allowed)
        error = ((a @ b).double() - exact).norm() / exact.norm()
        errors.append(float(error))
    bench.found.check(
        "With TF32 off, a product of FP32 matrices keeps FP32's digits",
        errors[0] < MOST_FP32_ERROR,
        f"relative error {errors[0]:.1e}",
    )
    if bench.is_gpu:
        bench.found.check(
            "With TF32 on, a product of FP32 matrices has TF32's digits",
            errors[1] > LEAST_TF32_ERROR,
            f"relative error {errors[1]:.1e}",
        )


def _measure(network: Network, precision: Precision, bench: Bench) -> None:
    for batch in halved(load_of(network, precision, bench).batch):
        load = load_of(network, precision, bench, batch)
        losses, seconds = time_training(load, bench)
        if seconds is None:
            continue
        name = f"train_{network.name}_{precision.value.lower()}"
        bench.found.figure(
            f"{name}_{network.unit}_per_s",
            f"{network.title}: one step of a training (forward, loss, backward, SGD with momentum);"
            f" {load.words}",
            [batch / step_s for step_s in seconds],
        )
        bench.found.check(
            f"{network.title} in {precision.value} trains without infinities", losses, "loss"
        )
        return
    bench.found.untried(f"training {network.title} in {precision.value}", "not enough GPU memory")


def time_training(
    load: Load, bench: Bench, round_s: float | None = None
) -> tuple[bool, list[float] | None]:
    """Return whether the loss stayed finite, and the seconds of a step; None if it does not fit."""
    training = None
    try:
        training = Training(load, bench)
        seconds = bench.rounds(training, round_s)
        return bool(training().isfinite()), seconds
    except torch.cuda.OutOfMemoryError:
        return True, None
    finally:
        del training
        gc.collect()
        forget_memory(bench)


def measure_batches(bench: Bench) -> None:
    """ResNet50 by the size of the batch, as far as the memory goes."""
    has_bf16 = Precision.BF16.why_not(bench.device) is None
    precision = Precision.BF16 if has_bf16 else Precision.FP16
    network = BY_NAME["resnet50"]
    largest = LARGEST_BATCH if bench.is_gpu else 4
    sizes = [1 << power for power in range(largest.bit_length())]
    for batch in sizes:
        load = load_of(network, precision, bench, batch)
        try:
            _, seconds = time_training(load, bench, SWEEP_ROUND_S if bench.is_gpu else None)
        except OutOfTimeError:
            bench.found.untried(f"batches of {batch} and more", "the time for this part was over")
            return
        if seconds is None:
            bench.found.untried(f"batches of {batch} and more", "not enough GPU memory")
            return
        bench.found.figure(
            f"batch_{batch}_resnet50_{precision.value.lower()}_images_per_s",
            f"ResNet50: one step of a training; {load.words}",
            [batch / step_s for step_s in seconds],
        )
