"""The networks, and one step of a training or of an inference with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch.nn import functional

from tests.lab.gpu.bench import Bench
from tests.lab.gpu.models import N_CLASSES, Network, alexnet, inception_v3, resnet50, vgg16
from tests.lab.gpu.precisions import Precision
from tests.lab.gpu.transformer import transformer

NETWORKS = (
    Network(
        name="resnet50",
        title="ResNet50",
        make=resnet50,
        n_parameters=25_557_032,
        side=224,
        tiny_side=64,
        batch=128,
    ),
    Network(
        name="inception3",
        title="InceptionV3",
        make=inception_v3,
        n_parameters=23_834_568,
        side=299,
        tiny_side=75,
        batch=128,
    ),
    Network(
        name="vgg16",
        title="VGG16",
        make=vgg16,
        n_parameters=138_357_544,
        side=224,
        tiny_side=32,
        batch=64,
    ),
    Network(
        name="alexnet",
        title="AlexNet",
        make=alexnet,
        n_parameters=61_100_840,
        side=224,
        tiny_side=64,
        batch=512,
    ),
    # BERT base has 108,890,112 without what it tells two sentences apart with; the rest is the
    # classes.
    Network(
        name="transformer",
        title="Transformer of BERT base's size",
        make=transformer,
        n_parameters=108_890_112 + 769_000,
        side=512,
        tiny_side=8,
        batch=32,
        unit="texts",
    ),
)
BY_NAME = {network.name: network for network in NETWORKS}


def n_parameters(network: Network) -> int:
    """Count at full width, without memory for them."""
    with torch.device("meta"):
        return sum(values.numel() for values in network.make(1.0).parameters())


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A network with a batch of synthetic data on the device."""

    network: Network
    precision: Precision
    batch: int
    side: int

    @property
    def words(self) -> str:
        return (
            f"batches of {self.batch} {self.network.words(self.side)}, made up and in the device's "
            f"memory; {self.precision.words}"
        )


def load_of(network: Network, precision: Precision, bench: Bench, batch: int | None = None) -> Load:
    """Return what is timed: half precision takes twice the batch, in about the same memory."""
    own = network.batch * (2 if precision.is_half else 1)
    side = network.side if bench.is_gpu else network.tiny_side
    return Load(
        network=network,
        precision=precision,
        batch=batch or bench.sizes.batch or own,
        side=side,
    )


class Training:
    """A network in training; each call is one step."""

    def __init__(self, load: Load, bench: Bench) -> None:
        load.precision.apply()
        torch.backends.cudnn.benchmark = True
        self._load, self._device = load, bench.device
        memory_format = torch.channels_last if load.precision.is_half else torch.contiguous_format
        with torch.device(bench.device):
            model = load.network.make(bench.sizes.width)
        self.model = model.to(memory_format=memory_format)
        data = load.network.inputs(load.batch, load.side, bench.device)
        self._data = data.to(memory_format=memory_format) if data.dim() == 4 else data
        self._labels = torch.randint(N_CLASSES, (load.batch,), device=bench.device)
        self._optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3, momentum=0.9)
        is_scaled = load.precision is Precision.FP16
        self._scaler = torch.amp.GradScaler(bench.device, enabled=is_scaled)

    def __call__(self) -> torch.Tensor:
        return self.step(self._data, self._labels)

    def step(self, data: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Train with one batch; return its loss, still on the device."""
        self._optimizer.zero_grad(set_to_none=True)
        with self._load.precision.autocast(self._device):
            loss = functional.cross_entropy(self.model(data).float(), labels)
        self._scaler.scale(loss).backward()
        self._scaler.step(self._optimizer)
        self._scaler.update()
        return loss.detach()


def halved(batch: int) -> Iterator[int]:
    """Yield a batch size and its halves, for a card whose memory it does not fit into."""
    while batch:
        yield batch
        batch //= 2


def forget_memory(bench: Bench) -> None:
    """Give the device's memory back after a network has gone."""
    if bench.is_gpu:
        torch.cuda.empty_cache()
