"""Handwritten digits: 10,000 real images of MNIST, from the shared storage or the installation."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

_FILE = Path("mnist", "mnist-10k.npz")
N_TRAINING = 8_000
_SHUFFLE_SEED = 2018


class DataError(Exception):
    """A data set is not where it should be, or not what it should be."""

    def _render_traceback_(self) -> list[str]:
        # Notebooks show this sentence in place of a traceback.
        return [f"{type(self).__name__}: {self}"]


def datasets_dir() -> Path:
    """Return the folder of the site's data sets on the shared storage, which need not exist.

    Returns:
        What the site's settings say; outside a session, `isilon/datasets` in the home.
    """
    return Path(os.environ.get("PORTAL_DATASETS_DIR") or Path.home() / "isilon" / "datasets")


def find_digits() -> Path:
    """Return where the digits are.

    Returns:
        The file on the shared storage; where there is none, the one that deploy/site/install puts
        beside the templates, if it has.
    """
    on_storage = datasets_dir() / _FILE
    templates = os.environ.get("PORTAL_TEMPLATES_DIR")
    if templates and not on_storage.exists():
        installed = Path(templates).parent / "datasets" / _FILE
        return installed if installed.exists() else on_storage
    return on_storage


DIGITS_PATH = find_digits()


@dataclass(frozen=True)
class Digits:
    """Images and what they show, for training and for testing.

    Attributes:
        train_images: float32 (8000, 28, 28, 1), 0 is paper and 1 is ink.
        train_labels: int32 (8000,), the digits 0 to 9.
        test_images: float32 (2000, 28, 28, 1).
        test_labels: int32 (2000,).
    """

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray

    def first(self, n_images: int) -> Digits:
        """Return fewer training images, for a quick try.

        Args:
            n_images: How many of them.

        Returns:
            The first training images, and all test images.
        """
        part = slice(n_images)
        return Digits(
            self.train_images[part], self.train_labels[part], self.test_images, self.test_labels
        )

    def share(self, rank: int, size: int) -> Digits:
        """Return the part of the training images that belongs to one rank.

        Args:
            rank: Number of the rank, from 0.
            size: Number of ranks.

        Returns:
            Every size-th training image, as many for each rank, and all test images.
        """
        n_images = len(self.train_images) // size * size
        part = slice(rank, n_images, size)
        return Digits(
            self.train_images[part], self.train_labels[part], self.test_images, self.test_labels
        )


def load_digits(path: str | os.PathLike[str] = DIGITS_PATH) -> Digits:
    """Read the digits and divide them into training and test, always in the same way.

    Args:
        path: NumPy file with `x`, uint8 (10000, 28, 28), and `y`, uint8 (10000,).

    Returns:
        8,000 images for training and 2,000 for testing.

    Raises:
        DataError: If the file is missing, or is another one.

    Source:
        MNIST, Y. LeCun, C. Cortes, C. J. C. Burges: 10,000 of its 60,000 training images.
    """
    path = Path(path)
    if not path.exists():
        raise DataError(
            f"The digits are not at {path}. On a cluster an administrator brings them with "
            "'deploy/site/install', on a single machine with 'deploy/environments/build datasets'. "
            "Or save your own with numpy.savez(path, x=images, y=labels), "
            "x uint8 (10000, 28, 28) and y uint8 (10000,), and give that path to load_digits."
        )
    try:
        with path.open("rb") as stream, np.load(stream) as file:
            images, labels = file["x"], file["y"]
    except (OSError, EOFError, ValueError, KeyError, BadZipFile) as error:
        raise DataError(f"{path} cannot be read as digits ({error}). Make it anew.") from error
    if images.shape[1:] != (28, 28) or len(images) != len(labels) or len(images) <= N_TRAINING:
        raise DataError(
            f"{path} holds {images.shape} images and {labels.shape} labels; wanted are more than "
            f"{N_TRAINING} images of 28 x 28 and as many labels."
        )
    order = np.random.default_rng(_SHUFFLE_SEED).permutation(len(images))
    images = images[order, :, :, np.newaxis].astype(np.float32) / 255
    labels = labels[order].astype(np.int32)
    return Digits(
        images[:N_TRAINING], labels[:N_TRAINING], images[N_TRAINING:], labels[N_TRAINING:]
    )
