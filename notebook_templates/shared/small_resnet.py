"""A small residual network for digits in PyTorch, trained quickly, as an ONNX file."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path

import numpy as np
import torch
from torch import nn

BATCH_SIZE = 32
_PEAK_RATE = 5e-3


class Residual(nn.Module):
    """Two convolutions and a way past them.

    Args:
        n_in: Channels that come in.
        n_out: Channels that go out.
        stride: Of the first convolution.
    """

    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(n_in, n_out, 3, stride, 1, bias=False),
            nn.BatchNorm2d(n_out),
            nn.ReLU(),
            nn.Conv2d(n_out, n_out, 3, 1, 1, bias=False),
            nn.BatchNorm2d(n_out),
        )
        self.past = nn.Sequential(
            nn.Conv2d(n_in, n_out, 1, stride, bias=False), nn.BatchNorm2d(n_out)
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the sum of both ways.

        Args:
            images: float32 (n, n_in, height, width).

        Returns:
            float32 (n, n_out, height / stride, width / stride).
        """
        return nn.functional.relu(self.body(images) + self.past(images))


def make_resnet() -> nn.Module:
    """Return the network with fresh weights, from float32 (n, 1, 28, 28) to ten scores."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, 2, 1, bias=False),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        Residual(32, 32, 1),
        Residual(32, 96, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(96, 10),
    )


def train(model: nn.Module, images: np.ndarray, labels: np.ndarray, n_epochs: int = 1) -> None:
    """Train with one rise and fall of the learning rate.

    Args:
        model: Changed in place; in evaluation mode after it.
        images: float32 (n, 1, 28, 28).
        labels: (n,), 0 to 9.
        n_epochs: Passes over the images.
    """
    inputs, targets = torch.from_numpy(images), torch.from_numpy(labels).long()
    n_steps = len(inputs) // BATCH_SIZE
    optimizer = torch.optim.AdamW(model.parameters())
    rate = torch.optim.lr_scheduler.OneCycleLR(optimizer, _PEAK_RATE, n_epochs * n_steps)
    model.train()
    for _ in range(n_epochs):
        order = torch.randperm(len(inputs))
        for step in range(n_steps):
            batch = order[step * BATCH_SIZE : (step + 1) * BATCH_SIZE]
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs[batch]), targets[batch]).backward()
            optimizer.step()
            rate.step()
    model.eval()


def export_onnx(model: nn.Module, path: Path) -> None:
    """Write a model as ONNX, for batches of any size.

    Args:
        model: In evaluation mode.
        path: The file; its input is called "images", its output "scores".
    """
    example = torch.zeros(2, 1, 28, 28)
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        # The exporter warns about itself.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model,
            (example,),
            path,
            input_names=["images"],
            output_names=["scores"],
            dynamic_shapes=({0: torch.export.Dim("n")},),
            external_data=False,
            verbose=False,
        )
