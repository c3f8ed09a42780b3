"""Flavours of TensorFlow and PyTorch: with the CUDA libraries for NVIDIA GPUs, or without."""

from __future__ import annotations

import enum
from pathlib import Path

from deploy.environments.builder.process import read_output


class Flavour(enum.Enum):
    """What the frameworks of an installation are for."""

    GPU = "gpu"
    CPU = "cpu"


def machine_flavour() -> Flavour:
    """Return the flavour that suits this machine: GPU if nvidia-smi lists one."""
    lines = (read_output(["nvidia-smi", "-L"]) or "").splitlines()
    # With a driver but no GPU, nvidia-smi prints a sentence.
    return Flavour.GPU if any(line.startswith("GPU ") for line in lines) else Flavour.CPU


def kept_flavour(prefix: Path) -> Flavour:
    """Return the flavour that an installation keeps, else the one that suits this machine."""
    path = _note(prefix)
    return Flavour(path.read_text().strip()) if path.exists() else machine_flavour()


def keep_flavour(prefix: Path, flavour: Flavour) -> None:
    """Remember the choice of a flavour for later builds.

    `flavour` is not stored if it is the one that suits this machine anyway.
    """
    # A machine that gets GPUs later changes its flavour by itself.
    if flavour is machine_flavour():
        _note(prefix).unlink(missing_ok=True)
    else:
        _note(prefix).write_text(f"{flavour.value}\n")


def _note(prefix: Path) -> Path:
    return prefix / "flavour"
