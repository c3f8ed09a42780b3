"""`python -m tests.lab.gpu.tfrecords JPEGS SHARDS SECONDS`: what TFRecord files take.

A program of its own: TensorFlow and PyTorch would share the GPU in one process.
"""

from __future__ import annotations

import json
import os
import sys

WAYS = {
    "jpeg simple": "JPEG files, one after the other",
    "jpeg tuned": "JPEG files, 32 readers",
    "shards tuned": "TFRecord shards, tuned",
}


def main(jpegs: str, shards: str, seconds: float) -> None:
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from dsportal.data import write_shards
    from dsportal.data.measure import Order, measure_all

    # What it prints on the way is not for who reads the figures.
    figures, sys.stdout = sys.stdout, sys.stderr
    write_shards(jpegs, shards)
    rates = measure_all(Order(jpegs, shards, seconds))
    json.dump({way: rates[way].images_per_s for way in WAYS}, figures)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
