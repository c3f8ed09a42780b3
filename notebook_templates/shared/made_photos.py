"""JPEG files as large as photographs, made from real handwritten digits.

There is no set of photographs without a download. These are made: one real digit of MNIST each,
written large on paper with light and grain, 500 x 375 pixels and about 110 KB, the mean size of
ImageNet's files.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from digits_data import Digits
from PIL import Image

WIDTH, HEIGHT = 500, 375
DIGIT_SIDE = 280
_QUALITY = 90
_GRAIN = 21.0
_SEED = 2018


def make_photos(digits: Digits, folder: Path, n_photos: int) -> Path:
    """Write JPEG files into a folder with one folder for each digit; those that are there stay.

    Args:
        digits: Where the digits come from; the training images.
        folder: Made if it is missing.
        n_photos: How many files in all.

    Returns:
        The folder.
    """
    for digit in range(10):
        (folder / str(digit)).mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(_SEED)
    grain = random.normal(0, _GRAIN, (2 * HEIGHT, 2 * WIDTH, 1)).astype(np.int16)

    def make(number: int) -> None:
        index = number % len(digits.train_images)
        path = folder / str(digits.train_labels[index]) / f"{number:06d}.jpg"
        if path.exists():
            return
        photo = _photo(digits.train_images[index, :, :, 0], grain, number)
        new = path.with_suffix(".new")
        photo.save(new, "jpeg", quality=_QUALITY)
        new.replace(path)

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(make, range(n_photos)))
    return folder


def _photo(digit: np.ndarray, grain: np.ndarray, number: int) -> Image.Image:
    # Elsewhere, and in other colours, for each number.
    random = np.random.default_rng(number)
    ink = Image.fromarray((digit * 255).astype(np.uint8)).resize(
        (DIGIT_SIDE, DIGIT_SIDE), Image.Resampling.BICUBIC
    )
    where = int(random.integers(WIDTH - DIGIT_SIDE)), int(random.integers(HEIGHT - DIGIT_SIDE))
    light = np.linspace(*random.uniform(0.75, 1.1, 2), WIDTH)[np.newaxis, :, np.newaxis]
    paper = (random.uniform(150, 230, 3) * light).astype(np.uint8)
    photo = Image.fromarray(paper).resize((WIDTH, HEIGHT))
    photo.paste(tuple(int(value) for value in random.integers(10, 110, 3)), where, ink)
    top, left = random.integers(HEIGHT), random.integers(WIDTH)
    picture = np.asarray(photo, np.int16) + grain[top : top + HEIGHT, left : left + WIDTH]
    return Image.fromarray(picture.clip(0, 255).astype(np.uint8))
