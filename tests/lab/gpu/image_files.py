"""The same made-up photographs as single JPEG files and as shards of records, and readers of both.

A shard is a file of records one after the other, as a TFRecord file is: here each has a head of
its length and label. It needs nothing but PyTorch; `dsportal.data` writes and reads TFRecord files
where there is TensorFlow.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy
import torch
from PIL import Image
from torch.utils.data import Dataset, IterableDataset, get_worker_info

from tests.lab.gpu.models import N_CLASSES

# The usual size of a photograph in ImageNet.
WIDTH, HEIGHT = 500, 375
SIDE = 224
QUALITY = 87
_HEAD = struct.Struct("<II")


def write_jpegs(folder: Path, n: int) -> list[Path]:
    """Write images of soft shapes with a grain, so that they are about as large as photographs."""
    random = numpy.random.default_rng(2018)
    folder.mkdir()
    paths = []
    for number in range(n):
        shapes = random.integers(0, 256, (12, 16, 3), dtype=numpy.uint8)
        soft = Image.fromarray(shapes).resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC)
        grain = random.normal(0, 8, (HEIGHT, WIDTH, 1))
        pixels = numpy.clip(numpy.asarray(soft, dtype=numpy.float32) + grain, 0, 255)
        path = folder / f"{number:05d}.jpg"
        Image.fromarray(pixels.astype(numpy.uint8)).save(path, quality=QUALITY)
        paths.append(path)
    return paths


def write_shards(folder: Path, jpegs: list[Path], n_shards: int) -> list[Path]:
    """Copy the files into shards as they are."""
    folder.mkdir()
    shards = []
    for number in range(n_shards):
        path = folder / f"{number:03d}.records"
        with path.open("wb") as file:
            for place, jpeg in list(enumerate(jpegs))[number::n_shards]:
                data = jpeg.read_bytes()
                file.write(_HEAD.pack(len(data), place % N_CLASSES) + data)
        shards.append(path)
    return shards


def decoded(data: bytes) -> torch.Tensor:
    """Decode an image and scale a random part of it: uint8, 3 x 224 x 224."""
    with Image.open(io.BytesIO(data)) as image:
        side = int(torch.randint(SIDE, min(image.size) + 1, ()))
        left = int(torch.randint(image.width - side + 1, ()))
        top = int(torch.randint(image.height - side + 1, ()))
        part = image.convert("RGB").resize((SIDE, SIDE), box=(left, top, left + side, top + side))
    return torch.from_numpy(numpy.array(part)).permute(2, 0, 1)


class JpegFiles(Dataset):
    """One file for each image, again and again."""

    def __init__(self, paths: list[Path], n_images: int) -> None:
        self._paths, self._n_images = paths, n_images

    def __len__(self) -> int:
        return self._n_images

    def __getitem__(self, place: int) -> tuple[torch.Tensor, int]:
        number = place % len(self._paths)
        return decoded(self._paths[number].read_bytes()), number % N_CLASSES


class Shards(IterableDataset):
    """Records of shards, again and again; each worker has shards of its own."""

    def __init__(self, paths: list[Path]) -> None:
        self._paths = paths

    def __iter__(self) -> Iterator[tuple[torch.Tensor, int]]:
        worker = get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker else (0, 1)
        own = self._paths[first::step]
        while own:
            for path in own:
                for data, label in read_shard(path):
                    yield decoded(data), label


def read_shard(path: Path) -> Iterator[tuple[bytes, int]]:
    """Read a shard from its beginning to its end."""
    with path.open("rb") as file:
        while head := file.read(_HEAD.size):
            n_bytes, label = _HEAD.unpack(head)
            yield file.read(n_bytes), label
