"""ONNX Runtime: INT8 by calibration, where to run, how fast and how right."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

PREFERRED = ("TensorrtExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider")
_TENSORRT = "TensorrtExecutionProvider"


@dataclass(frozen=True)
class Accuracy:
    """How right a model is.

    Args:
        top_1: Share of images whose highest score is the right class, 0 to 1.
        top_5: Share whose right class is among the five highest.
    """

    top_1: float
    top_5: float


class Batches(CalibrationDataReader):
    """The images that calibration looks at, batch by batch.

    Args:
        images: float32, as many as whole batches have.
        batch_size: Images of a batch.
    """

    def __init__(self, images: np.ndarray, batch_size: int) -> None:
        self._batches: Iterator[np.ndarray] = iter(np.split(images, len(images) // batch_size))

    def get_next(self) -> dict[str, np.ndarray] | None:
        """Return the next batch by the name of the model's input; None after the last one."""
        batch = next(self._batches, None)
        return None if batch is None else {"images": batch}


def quantize(model: Path, target: Path, calibration: Batches) -> None:
    """Write a model with INT8 weights and activations.

    Args:
        model: ONNX file in FP32.
        target: The file to write.
        calibration: Images by which the range of each activation is found.
    """
    logging.getLogger().setLevel(logging.ERROR)
    prepared = target.with_suffix(".prepared.onnx")
    # Folds normalization into the convolutions, so that they are quantized as one.
    quant_pre_process(model, prepared)
    quantize_static(
        prepared,
        target,
        calibration,
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        activation_type=QuantType.QInt8 if has_gpu() else QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        # Without VNNI the processor adds two products in 16 bits, which 8 bits overflow.
        reduce_range=not (has_gpu() or has_vnni()),
    )
    prepared.unlink()


def open_model(path: Path, n_threads: int) -> onnxruntime.InferenceSession:
    """Load a model where it runs fastest: TensorRT, else CUDA, else the processor.

    Args:
        path: ONNX file.
        n_threads: Threads on the processor.

    Returns:
        The session.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads
    options.log_severity_level = 3
    offered = onnxruntime.get_available_providers()
    chosen = [name for name in PREFERRED if name in offered]
    trt = {"trt_int8_enable": True, "trt_fp16_enable": False}
    settings = [trt if name == _TENSORRT else {} for name in chosen]
    return onnxruntime.InferenceSession(path, options, providers=chosen, provider_options=settings)


def accuracy(
    session: onnxruntime.InferenceSession, images: np.ndarray, labels: np.ndarray
) -> Accuracy:
    """Measure how right a model is.

    Args:
        session: The model.
        images: float32 (n, 1, 28, 28).
        labels: (n,).

    Returns:
        Top-1 and top-5.
    """
    parts = np.array_split(images, max(1, len(images) // 250))
    scores = np.concatenate([session.run(None, {"images": part})[0] for part in parts])
    best = np.argsort(-scores, axis=1)[:, :5]
    is_right = best == labels[:, np.newaxis]
    return Accuracy(float(is_right[:, 0].mean()), float(is_right.any(axis=1).mean()))


def latency_s(session: onnxruntime.InferenceSession, batch: np.ndarray, seconds: float) -> float:
    """Return the median time for one batch.

    Args:
        session: The model.
        batch: float32 (n, 1, 28, 28).
        seconds: How long to measure.

    Returns:
        Seconds.
    """
    session.run(None, {"images": batch})
    times_s: list[float] = []
    while sum(times_s) < seconds or len(times_s) < 5:
        began_s = time.perf_counter()
        session.run(None, {"images": batch})
        times_s.append(time.perf_counter() - began_s)
    return float(np.median(times_s))


def has_gpu() -> bool:
    """Return whether ONNX Runtime can run on a GPU here."""
    return bool({*PREFERRED[:2]} & {*onnxruntime.get_available_providers()})


def has_vnni() -> bool:
    """Return whether the processor has instructions for INT8."""
    flags = Path("/proc/cpuinfo").read_text().split()
    return "avx512_vnni" in flags or "avx_vnni" in flags
