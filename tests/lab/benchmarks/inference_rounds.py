"""Images/s of FP32 and INT8 on one core, in turns; run as `inference_rounds.py N_ROUNDS`.

The model is that of the template notebook about INT8.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from digits_data import load_digits
from onnx_inference import Batches, accuracy, latency_s, open_model, quantize
from small_resnet import export_onnx, make_resnet, train

BATCH_SIZES = (1, 4, 16, 64)
SECONDS = 0.4
N_TRAINING, N_CALIBRATION, CALIBRATION_BATCH = 6_000, 1_250, 25


def main(argv):
    torch.set_num_threads(2)
    torch.manual_seed(1)
    digits = load_digits()
    images = np.concatenate([digits.train_images, digits.test_images]).transpose(0, 3, 1, 2)
    labels = np.concatenate([digits.train_labels, digits.test_labels])
    cut = N_TRAINING + N_CALIBRATION
    model = make_resnet()
    train(model, images[:N_TRAINING], labels[:N_TRAINING])
    with tempfile.TemporaryDirectory() as name:
        paths = {precision: Path(name, f"{precision}.onnx") for precision in ("fp32", "int8")}
        export_onnx(model, paths["fp32"])
        calibration = Batches(images[N_TRAINING:cut], CALIBRATION_BATCH)
        quantize(paths["fp32"], paths["int8"], calibration)
        sessions = {precision: open_model(path, 1) for precision, path in paths.items()}
        top_1 = {
            precision: accuracy(session, images[cut:], labels[cut:]).top_1
            for precision, session in sessions.items()
        }
        for number in range(int(argv[0])):
            # What comes first takes turns.
            order = sorted(sessions, reverse=bool(number % 2))
            rates = {
                f"{precision}_images_per_s": max(
                    size / latency_s(sessions[precision], images[:size], SECONDS)
                    for size in BATCH_SIZES
                )
                for precision in order
            }
            drop = 100 * (top_1["fp32"] - top_1["int8"])
            print("FOUND", json.dumps({**rates, "accuracy_drop_percent": drop}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
