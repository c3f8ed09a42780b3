"""What the card, the driver and PyTorch say about themselves."""

from __future__ import annotations

import contextlib
import importlib
import os
import platform
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import numpy
import torch

from portal.server.base.gpus import Gpus
from tests.lab.gpu.bench import MIB, Bench


def describe_card(bench: Bench) -> None:
    """Write down what figures depend on."""
    tell = bench.found.fact
    tell("torch", torch.__version__)
    tell("numpy", numpy.__version__)
    tell("python", platform.python_version())
    for name in ("tensorflow", "pynvml"):
        tell(f"has_{name}", find_spec(name) is not None)
    if not bench.is_gpu:
        return
    card = torch.cuda.get_device_properties(0)
    tell("name", card.name)
    tell("n_gpus", torch.cuda.device_count())
    tell("memory_mib", card.total_memory // MIB)
    tell("multiprocessors", card.multi_processor_count)
    tell("compute_capability", f"{card.major}.{card.minor}")
    tell("cuda", torch.version.cuda)
    tell("cudnn", torch.backends.cudnn.version())
    tell("nccl", ".".join(map(str, torch.cuda.nccl.version())))
    for name, value in _of_driver().items():
        tell(name, value)
    _check_tensorflow(bench)


def _of_driver() -> dict[str, Any]:
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError:
        return {}
    with contextlib.suppress(nvml.NVMLError):
        nvml.nvmlInit()
        driver = nvml.nvmlSystemGetDriverVersion()
        parts = [gpu.name for gpu in Gpus(os.environ).read() if "MIG" in gpu.name]
        return {
            "driver": driver.decode() if isinstance(driver, bytes) else driver,
            "mig_parts": parts,
        }
    return {}


def _check_tensorflow(bench: Bench) -> None:
    if find_spec("tensorflow") is None:
        bench.found.untried("TensorFlow on the GPU", "it is not installed for this Python")
        return
    code = "import tensorflow; print(len(tensorflow.config.list_physical_devices('GPU')))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    n_seen, n_gpus = done.stdout.strip(), torch.cuda.device_count()
    bench.found.check(
        "TensorFlow sees as many GPUs as PyTorch", n_seen == str(n_gpus), n_seen or done.stderr
    )
