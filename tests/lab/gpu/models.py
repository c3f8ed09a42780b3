"""The networks that are timed, with the layers that their papers and PyTorch's own models have.

Written here because a node may have PyTorch without torchvision. `width` makes all layers narrower,
so that the suite can be tried on a CPU.

Source:
    ResNet50 with the stride in the 3 x 3 convolution (v1.5): arXiv:1512.03385; InceptionV3 without
    its second classifier: arXiv:1512.00567; VGG16: arXiv:1409.1556; AlexNet: arXiv:1404.5997;
    transformer: the encoder of BERT base, arXiv:1810.04805.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

N_CLASSES = 1000
N_WORDS = 30_522


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A network and how it is fed.

    Attributes:
        side: Pixels of an image's side; tokens of a text.
        batch: Images, or texts, of a batch in FP32; twice as many in half precision.
    """

    name: str
    title: str
    make: Callable[[float], nn.Module]
    n_parameters: int
    side: int
    tiny_side: int
    batch: int
    unit: str = "images"

    def inputs(self, n: int, side: int, device: str) -> Tensor:
        if self.unit == "images":
            return torch.rand(n, 3, side, side, device=device)
        return torch.randint(N_WORDS, (n, side), device=device)

    def words(self, side: int) -> str:
        return f"images of {side} x {side}" if self.unit == "images" else f"texts of {side} tokens"


Kernel = int | tuple[int, int]


def _convolution(n_in: int, n_out: int, kernel: Kernel, stride: int = 1, pad: bool = True):
    height, width = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    padding = (height // 2, width // 2) if pad else 0
    return nn.Sequential(
        nn.Conv2d(n_in, n_out, (height, width), stride, padding, bias=False),
        nn.BatchNorm2d(n_out),
        nn.ReLU(inplace=True),
    )


class _Bottleneck(nn.Module):
    """Three convolutions, added to what came in."""

    def __init__(self, n_in: int, n_mid: int, stride: int) -> None:
        super().__init__()
        n_out = 4 * n_mid
        self.way = nn.Sequential(
            _convolution(n_in, n_mid, 1), _convolution(n_mid, n_mid, 3, stride), _last(n_mid, n_out)
        )
        is_same = n_in == n_out and stride == 1
        self.shortcut = nn.Identity() if is_same else _last(n_in, n_out, stride)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.way(x) + self.shortcut(x), inplace=True)


def _last(n_in: int, n_out: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(n_in, n_out, 1, stride, bias=False), nn.BatchNorm2d(n_out))


def _head(n_in: int) -> list[nn.Module]:
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(n_in, N_CLASSES)]


def resnet50(width: float = 1.0) -> nn.Module:
    n = _narrowed(width)
    layers: list[nn.Module] = [_convolution(3, n(64), 7, 2), nn.MaxPool2d(3, 2, 1)]
    n_in = n(64)
    for n_mid, n_blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(n_blocks):
            layers.append(_Bottleneck(n_in, n(n_mid), 1 if block else stride))
            n_in = 4 * n(n_mid)
    return nn.Sequential(*layers, *_head(n_in))


class _Branches(nn.Module):
    """Several ways through the same layer, joined."""

    def __init__(self, *ways: nn.Module) -> None:
        super().__init__()
        self.ways = nn.ModuleList(ways)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([way(x) for way in self.ways], dim=1)


def _way(n_in: int, *layers: tuple[int, Kernel]) -> nn.Sequential:
    convolutions = []
    for n_out, kernel in layers:
        convolutions.append(_convolution(n_in, n_out, kernel))
        n_in = n_out
    return nn.Sequential(*convolutions)


def _shrunk(n_in: int, *layers: tuple[int, Kernel], n_out: int) -> nn.Sequential:
    # Ends with a stride of 2 and without padding, as the pooling beside it does.
    return nn.Sequential(
        _way(n_in, *layers), _convolution(layers[-1][0], n_out, 3, stride=2, pad=False)
    )


def _pooled(n_in: int, n_out: int) -> nn.Sequential:
    return nn.Sequential(nn.AvgPool2d(3, 1, 1), _convolution(n_in, n_out, 1))


def inception_v3(width: float = 1.0) -> nn.Module:
    n = _narrowed(width)
    layers: list[nn.Module] = [
        _convolution(3, n(32), 3, 2, pad=False),
        _convolution(n(32), n(32), 3, pad=False),
        _convolution(n(32), n(64), 3),
        nn.MaxPool2d(3, 2),
        _convolution(n(64), n(80), 1),
        _convolution(n(80), n(192), 3, pad=False),
        nn.MaxPool2d(3, 2),
    ]
    n_in = n(192)
    for n_pooled in (32, 64, 64):
        layers.append(
            _Branches(
                _way(n_in, (n(64), 1)),
                _way(n_in, (n(48), 1), (n(64), 5)),
                _way(n_in, (n(64), 1), (n(96), 3), (n(96), 3)),
                _pooled(n_in, n(n_pooled)),
            )
        )
        n_in = 2 * n(64) + n(96) + n(n_pooled)
    layers.append(
        _Branches(
            _convolution(n_in, n(384), 3, 2, pad=False),
            _shrunk(n_in, (n(64), 1), (n(96), 3), n_out=n(96)),
            nn.MaxPool2d(3, 2),
        )
    )
    n_in += n(384) + n(96)
    for n_mid in (n(128), n(160), n(160), n(192)):
        across, down = (n_mid, (1, 7)), (n_mid, (7, 1))
        layers.append(
            _Branches(
                _way(n_in, (n(192), 1)),
                _way(n_in, (n_mid, 1), across, (n(192), (7, 1))),
                _way(n_in, (n_mid, 1), down, across, down, (n(192), (1, 7))),
                _pooled(n_in, n(192)),
            )
        )
        n_in = 4 * n(192)
    layers.append(
        _Branches(
            _shrunk(n_in, (n(192), 1), n_out=n(320)),
            _shrunk(n_in, (n(192), 1), (n(192), (1, 7)), (n(192), (7, 1)), n_out=n(192)),
            nn.MaxPool2d(3, 2),
        )
    )
    n_in += n(320) + n(192)
    for _ in range(2):
        layers.append(
            _Branches(
                _way(n_in, (n(320), 1)),
                nn.Sequential(_way(n_in, (n(384), 1)), _cross(n(384))),
                nn.Sequential(_way(n_in, (n(448), 1), (n(384), 3)), _cross(n(384))),
                _pooled(n_in, n(192)),
            )
        )
        n_in = n(320) + 4 * n(384) + n(192)
    return nn.Sequential(*layers, *_head(n_in))


def _cross(n: int) -> _Branches:
    return _Branches(_convolution(n, n, (1, 3)), _convolution(n, n, (3, 1)))


def vgg16(width: float = 1.0) -> nn.Module:
    n = _narrowed(width)
    layers: list[nn.Module] = []
    n_in = 3
    for n_out, n_convolutions in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(n_convolutions):
            layers += [nn.Conv2d(n_in, n(n_out), 3, padding=1), nn.ReLU(inplace=True)]
            n_in = n(n_out)
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, *_classifier(n_in, 7, n(4096)))


def alexnet(width: float = 1.0) -> nn.Module:
    n = _narrowed(width)
    return nn.Sequential(
        *(nn.Conv2d(3, n(64), 11, 4, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2)),
        *(nn.Conv2d(n(64), n(192), 5, padding=2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2)),
        *(nn.Conv2d(n(192), n(384), 3, padding=1), nn.ReLU(inplace=True)),
        *(nn.Conv2d(n(384), n(256), 3, padding=1), nn.ReLU(inplace=True)),
        *(nn.Conv2d(n(256), n(256), 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2)),
        *_classifier(n(256), 6, n(4096)),
    )


def _classifier(n_in: int, side: int, n_mid: int) -> list[nn.Module]:
    return [
        *(nn.AdaptiveAvgPool2d(side), nn.Flatten()),
        *(nn.Linear(n_in * side * side, n_mid), nn.ReLU(inplace=True), nn.Dropout()),
        *(nn.Linear(n_mid, n_mid), nn.ReLU(inplace=True), nn.Dropout()),
        nn.Linear(n_mid, N_CLASSES),
    ]


def _narrowed(width: float) -> Callable[[int], int]:
    return lambda n: max(2, round(n * width))
