"""The network that reads handwritten digits, in PyTorch, and how its training is reported."""

from __future__ import annotations

import hashlib
import math
import os

import numpy as np
import torch
from digits_data import Digits
from torch import nn
from torch.nn import functional

N_REPORTED = 2_000
LARGEST_SHIFT = 2 / 14  # two pixels; the grid of an image goes from -1 to 1
LARGEST_TURN = math.radians(11)


def make_model() -> nn.Module:
    """Return a small convolutional network with fresh weights.

    Returns:
        Model from float32 (n, 1, 28, 28), values 0 to 1, to a score for each of the ten digits.
    """
    return nn.Sequential(
        nn.Conv2d(1, 32, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * 5 * 5, 128),
        nn.ReLU(),
        nn.Dropout(0.4),
        nn.Linear(128, 10),
    )


def to_tensors(images: np.ndarray, labels: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    """Return images and labels in the form that the network takes.

    Args:
        images: float32 (n, 28, 28, 1).
        labels: int32 (n,).

    Returns:
        float32 (n, 1, 28, 28) and int64 (n,), in the memory of the device to train on.
    """
    device = choose_device()
    pixels = torch.from_numpy(images.reshape(-1, 1, *images.shape[1:3]))
    return pixels.to(device), torch.from_numpy(labels.astype(np.int64)).to(device)


def move_and_turn(images: torch.Tensor) -> torch.Tensor:
    """Return images that are each moved by up to 2 pixels and turned by up to 11 degrees.

    Args:
        images: float32 (n, 1, 28, 28).

    Returns:
        As many, so that the network sees more hands than there are.
    """
    n_images, device = len(images), images.device
    turns = (torch.rand(n_images, device=device) * 2 - 1) * LARGEST_TURN
    shifts = (torch.rand(n_images, 2, 1, device=device) * 2 - 1) * LARGEST_SHIFT
    cosines, sines = turns.cos(), turns.sin()
    turning = torch.stack([cosines, -sines, sines, cosines], dim=1).view(n_images, 2, 2)
    grid = functional.affine_grid(
        torch.cat([turning, shifts], dim=2), list(images.shape), align_corners=False
    )
    return functional.grid_sample(images, grid, align_corners=False)


class AccuracyReport:
    """Prints training and test accuracy as the training goes, and keeps them for the curves.

    Args:
        digits: Both are measured on 2,000 images each.
        every_steps: Steps between two reports.

    Attributes:
        steps: Global step of each report, from 1.
        training: Share of training images that were read rightly, 0 to 1.
        test: The same of test images.
    """

    def __init__(self, digits: Digits, every_steps: int = 100) -> None:
        n = N_REPORTED
        self._training = to_tensors(digits.train_images[:n], digits.train_labels[:n])
        self._test = to_tensors(digits.test_images, digits.test_labels)
        self._every_steps = every_steps
        self.steps: list[int] = []
        self.training: list[float] = []
        self.test: list[float] = []

    def step(self, model: nn.Module, step: int, epoch: int, *, is_last: bool = False) -> None:
        """Report, at every so many steps and at the last one.

        Args:
            model: The model.
            step: Number of the step, from 1.
            epoch: Number of the epoch, from 1.
            is_last: True for the last step.
        """
        if step % self._every_steps != 1 and not is_last:
            return
        self.steps.append(step)
        self.training.append(accuracy(model, *self._training))
        self.test.append(accuracy(model, *self._test))
        print(
            f"Epoch {epoch} Global Step {step}, "
            f"Training Accuracy {self.training[-1]:.4f}\nTest Accuracy {self.test[-1]:.4f}",
            flush=True,
        )


def accuracy(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> float:
    """Return the share of images that a model reads rightly.

    Args:
        model: The model.
        images: float32 (n, 1, 28, 28).
        labels: int64 (n,).

    Returns:
        0 to 1.
    """
    was_training = model.training
    model.eval()
    with torch.inference_mode():
        read = model(images).argmax(dim=1)
    model.train(was_training)
    return float((read == labels).float().mean())


def read_digits(model: nn.Module, images: torch.Tensor) -> np.ndarray:
    """Return the probability of each digit for each image.

    Args:
        model: The model.
        images: float32 (n, 1, 28, 28).

    Returns:
        float32 (n, 10); rows add up to 1.
    """
    model.eval()
    with torch.inference_mode():
        return model(images).softmax(dim=1).cpu().numpy()


def weights_checksum(model: nn.Module) -> str:
    """Return a short checksum that two models share only if all their weights are equal.

    Args:
        model: The model.

    Returns:
        The first 16 hexadecimal digits of the SHA-256 of all weights.
    """
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().cpu().numpy().tobytes())
    return digest.hexdigest()[:16]


def choose_device() -> torch.device:
    """Return what to train on.

    Returns:
        The GPU of this process: that of its rank where it is one of several; else the cores.
    """
    if torch.cuda.is_available():
        return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    return torch.device("cpu")


def describe_devices() -> str:
    """Say in a sentence what this notebook trains on.

    Returns:
        The GPUs that PyTorch sees, or else the cores.
    """
    version = f"PyTorch {torch.__version__}"
    n_gpus = torch.cuda.device_count()
    if n_gpus:
        names = {torch.cuda.get_device_name(number) for number in range(n_gpus)}
        return f"{version}; sees {n_gpus} GPUs: {', '.join(sorted(names))}."
    n_cores = len(os.sched_getaffinity(0))
    if os.environ.get("PORTAL_GPUS_SIMULATED") == "1":
        return f"{version}; the GPUs here are simulated: trains on {n_cores} cores."
    return f"{version}; PyTorch sees no GPU: trains on {n_cores} cores."
