"""ResNet50, with the layers that its paper and PyTorch's own model have.

Written here because a node may have PyTorch without torchvision. `width` makes all layers narrower,
so that the suite can be tried on a CPU.

Source:
    ResNet50 with the stride in the 3 x 3 convolution (v1.5): arXiv:1512.03385.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn
from torch.nn import functional

N_CLASSES = 1000


def _convolution(n_in: int, n_out: int, kernel: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(n_in, n_out, kernel, stride, kernel // 2, bias=False),
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


def _narrowed(width: float) -> Callable[[int], int]:
    return lambda n: max(2, round(n * width))
