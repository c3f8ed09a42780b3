"""INT8 beside the floating-point formats: matrix products, and a transformer's inference."""

from __future__ import annotations

import copy
from importlib.util import find_spec

import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.lab.gpu.bench import Bench, OutOfTimeError
from tests.lab.gpu.networks import BY_NAME, forget_memory
from tests.lab.gpu.precisions import Precision

INFERENCE_BATCH = 64
LEAST_LIKENESS = 0.98


class Int8Linear(nn.Module):
    """A linear layer whose product is computed in INT8 and summed up in INT32.

    Each output channel of the weights has a scale of its own, and so has each row of the inputs,
    which is found anew for each batch.
    """

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        weights, scales = quantized(layer.weight.detach().float())
        # The product takes the second matrix with its columns in one piece.
        # No buffers: a cast of the whole model must not take digits from the scales.
        self.weights, self.scales = weights.t(), scales.t().contiguous()
        self.bias = layer.bias.detach()

    def forward(self, x: Tensor) -> Tensor:
        rows, scales = quantized(x.flatten(0, -2))
        sums = torch._int_mm(rows, self.weights)
        out = sums * (scales.float() * self.scales)
        return out.to(x.dtype).unflatten(0, x.shape[:-1]) + self.bias.to(x.dtype)


def quantized(values: Tensor) -> tuple[Tensor, Tensor]:
    """Return each row in INT8 and its scale."""
    scales = values.abs().amax(dim=1, keepdim=True).clamp(min=1e-8) / 127
    return (values / scales).round().to(torch.int8), scales


def with_int8(model: nn.Module) -> nn.Module:
    """Return a copy of a model with INT8 in its blocks; the head stays as it is."""
    changed = copy.deepcopy(model)
    for block in changed.blocks:
        block.attention_in = Int8Linear(block.attention_in)
        block.attention_out = Int8Linear(block.attention_out)
        block.layers[0] = Int8Linear(block.layers[0])
        block.layers[2] = Int8Linear(block.layers[2])
    return changed


def measure_int8(bench: Bench) -> None:
    """Products, then the transformer, then what is not there."""
    try:
        _measure_products(bench)
        _measure_transformer(bench)
    except OutOfTimeError:
        bench.found.untried("the rest of INT8", "the time for this part was over")
    why = "TensorRT is there, but this suite does not drive it"
    if find_spec("tensorrt") is None:
        why = "PyTorch has no INT8 convolutions for GPUs, and TensorRT is not installed"
    bench.found.untried("convolutions in INT8 (ResNet50)", why)


def _measure_products(bench: Bench) -> None:
    n = bench.sizes.matrix
    a, b = (torch.randn(n, n, device=bench.device) for _ in range(2))

    def tell(name: str, words: str, seconds: list[float]) -> None:
        label = f"product of two matrices of {n} x {n} random numbers, {words}; 10^12 operations/s"
        bench.found.figure(
            f"product_{name.lower()}_tera_per_s", label, [2 * n**3 / s / 1e12 for s in seconds]
        )

    for precision in Precision:
        if why := precision.why_not(bench.device):
            bench.found.untried(f"products in {precision.value}", why)
            continue
        precision.apply()
        left, right = a.to(precision.dtype), b.to(precision.dtype)
        words = precision.words.split(" by ")[0]
        tell(precision.value, words, bench.rounds(lambda a=left, b=right: a @ b))
    rows, columns = (
        torch.randint(-127, 128, (n, n), dtype=torch.int8, device=bench.device) for _ in range(2)
    )
    transposed = columns.t()
    seconds = bench.rounds(lambda: torch._int_mm(rows, transposed))
    tell("INT8", "INT8 summed up in INT32", seconds)
    same = torch._int_mm(rows[:32], transposed).double() - rows[:32].double() @ transposed.double()
    bench.found.check(
        "A product in INT8 is exact", not same.any().item(), f"off by {same.abs().max().item():g}"
    )


@torch.no_grad()
def _measure_transformer(bench: Bench) -> None:
    network = BY_NAME["transformer"]
    side = network.side if bench.is_gpu else network.tiny_side
    batch = bench.sizes.batch or INFERENCE_BATCH
    # Products in INT8 need more than 16 rows, and numbers of channels that 8 divides.
    width = max(bench.sizes.width, 1 / 12)
    model = network.make(width).to(bench.device).eval()
    texts = network.inputs(max(batch, 3), side, bench.device)
    Precision.FP32.apply()
    expected = model(texts)
    halves = Precision.BF16 if Precision.BF16.why_not(bench.device) is None else Precision.FP16
    ways = {
        "fp32": (model, "FP32 with TF32 off"),
        halves.value.lower(): (_cast(model, halves), f"{halves.value} weights and values"),
        "int8": (
            _cast(with_int8(model), halves),
            f"linear layers of the blocks in INT8 with a scale for each row, found for each batch, "
            f"the rest in {halves.value}",
        ),
    }
    for name, (changed, words) in ways.items():
        likeness = functional.cosine_similarity(changed(texts).float(), expected).min().item()
        bench.found.check(
            f"The transformer's answers in {name.upper()} are like those in FP32",
            likeness > LEAST_LIKENESS,
            f"least cosine {likeness:.4f}",
        )
        seconds = bench.rounds(lambda changed=changed: changed(texts))
        bench.found.figure(
            f"infer_transformer_{name}_texts_per_s",
            f"{network.title}: inference of batches of {len(texts)} texts of {side} tokens that "
            f"are in the device's memory; {words}",
            [len(texts) / step_s for step_s in seconds],
        )
    forget_memory(bench)


def _cast(model: nn.Module, precision: Precision) -> nn.Module:
    # INT8 weights are whole numbers, which no cast of floating-point values touches.
    return copy.deepcopy(model).to(precision.dtype)
