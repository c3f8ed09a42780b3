"""What INT8 gains over FP32 on this class of processor."""

import statistics
from pathlib import Path

import pytest

from tests.lab.benchmarks.aims import LEAST_WITH_VNNI
from tests.lab.benchmarks.machine import read_machine
from tests.lab.benchmarks.report import LEAST_ROUNDS, spread_of, write_report
from tests.lab.benchmarks.sessions import SHARED_DIR, measure_in_session

pytestmark = pytest.mark.cluster

PROGRAM = Path(__file__).with_name("inference_rounds.py")
SHARED = ("digits_data.py", "onnx_inference.py", "small_resnet.py")
WORDS = {
    "int8_vs_fp32": "images/s of INT8 relative to FP32 on one core, each at its best batch size",
    "fp32_images_per_s": "images/s in FP32",
    "int8_images_per_s": "images/s in INT8",
    "int8_accuracy_drop_percent": "percentage points of top-1 accuracy that INT8 loses",
}


def test_int8_is_several_times_faster_if_the_processor_multiplies_bytes(rounds: int) -> None:
    beside = [SHARED_DIR / name for name in SHARED]
    rows = measure_in_session(PROGRAM, str(rounds), environment="pytorch", beside=beside)
    rates = {name: [row[name] for row in rows] for name in rows[0]}
    fp32, int8 = rates["fp32_images_per_s"], rates["int8_images_per_s"]
    ratios = [fast / slow for fast, slow in zip(int8, fp32, strict=True)]
    ratio = round(statistics.median(ratios), 2)
    drop = round(rows[0]["accuracy_drop_percent"], 2)
    int8_class = read_machine().int8_class

    write_report(
        "inference",
        title="Inference in INT8",
        figures={
            "int8_vs_fp32": ratio,
            "fp32_images_per_s": round(statistics.median(fp32)),
            "int8_images_per_s": round(statistics.median(int8)),
            "int8_accuracy_drop_percent": drop,
        },
        words=WORDS,
        spread={
            "int8_vs_fp32": spread_of(ratios, 2),
            "fp32_images_per_s": spread_of(fp32, 0),
            "int8_images_per_s": spread_of(int8, 0),
        },
        rounds=len(rows),
        notes=(
            f"Class of the processor: {int8_class}. What INT8 gains depends on it: VNNI and AMX "
            "multiply and add bytes in one instruction, other processors need several.",
            "A small residual network for digits, ONNX Runtime, one thread.",
        ),
    )
    assert abs(drop) <= 1
    if rounds >= LEAST_ROUNDS and int8_class in {"VNNI", "AMX"}:
        assert ratio >= LEAST_WITH_VNNI
