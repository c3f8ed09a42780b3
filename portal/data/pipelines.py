"""How images come to a model through tf.data: the obvious ways, and the tuned ones.

All give batches of float32 (n, 224, 224, 3), 0 to 1, and labels: a random part of each image, as
ImageNet trainings take it. They differ in how the bytes are read and when they are decoded.

    from portal.data import read_jpegs, read_shards

    model.fit(read_shards("isilon/photos-shards", batch_size=256))
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from portal.data.images import find_images
from portal.data.shards import open_shards

SIDE = 224
_KEPT_SIDE = 256
# Reads that wait for storage at a time, each in a thread of its own.
N_READERS = 32
_CYCLE = 16
_SHUFFLED_IMAGES = 2_048
_AREA = (0.08, 1.0)
_ASPECT = (3 / 4, 4 / 3)

Tensor = Any
Dataset = Any


def read_jpegs(folder: str | os.PathLike[str], *, batch_size: int, tuned: bool = True) -> Dataset:
    """Read a folder of JPEG files.

    Args:
        folder: Folder with one folder for each class.
        batch_size: Images of a batch.
        tuned: Many readers in threads of their own, decoding fused with cropping, and batches
            prefetched; else one file after the other.

    Returns:
        The dataset, one pass over all images.
    """
    found = find_images(folder)
    files = tf.data.Dataset.from_tensor_slices((found.paths(), found.labels()))
    # Consecutive files are of one class; names are small, so all of them are shuffled.
    files = files.shuffle(len(found.images))
    if not tuned:
        return _one_by_one(files.map(_loaded(decode_then_crop)).batch(batch_size))
    return _fed(_side_by_side(files, _loaded(crop_while_decoding)).batch(batch_size))


def read_shards(
    folder: str | os.PathLike[str], *, batch_size: int, tuned: bool = True, cache: bool = False
) -> Dataset:
    """Read shards of TFRecords, as `write_shards` makes them.

    Args:
        folder: Folder of the shards.
        batch_size: Images of a batch.
        tuned: Several shards at a time, decoding fused with cropping and on all cores, in threads
            of their own, and batches prefetched; else one record after the other.
        cache: Decode each image once only, and keep it in memory with 256 x 256 pixels, 192 KiB;
            the random part is then a square of 224 x 224 of it.

    Returns:
        The dataset, one pass over all images.
    """
    paths = open_shards(folder).paths()
    if not tuned:
        records = tf.data.TFRecordDataset(paths)
        return _one_by_one(records.map(_parsed(decode_then_crop)).batch(batch_size))
    files = tf.data.Dataset.from_tensor_slices(paths).shuffle(len(paths))
    records = files.interleave(
        tf.data.TFRecordDataset,
        cycle_length=_CYCLE,
        num_parallel_calls=_CYCLE,
        deterministic=False,
    )
    if cache:
        decoded = _side_by_side(records, _parsed(decode_small)).cache()
        images = _side_by_side(decoded.shuffle(_SHUFFLED_IMAGES), _cropped)
    else:
        # Records are shuffled before they are decoded: they are small then.
        images = _side_by_side(records.shuffle(_SHUFFLED_IMAGES), _parsed(crop_while_decoding))
    return _fed(images.batch(batch_size))


def n_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def decode_then_crop(data: Tensor) -> Tensor:
    """Decode a whole JPEG, cut a random part out and scale it.

    Args:
        data: The file's bytes.

    Returns:
        float32 (224, 224, 3), 0 to 1.
    """
    image = tf.io.decode_jpeg(data, channels=3)
    top, left, height, width = _window(tf.shape(image))
    return _scaled(tf.image.crop_to_bounding_box(image, top, left, height, width))


def crop_while_decoding(data: Tensor) -> Tensor:
    """Decode only the random part of a JPEG that is wanted, and scale it.

    Args:
        data: The file's bytes.

    Returns:
        float32 (224, 224, 3), 0 to 1.
    """
    window = _window(tf.io.extract_jpeg_shape(data))
    part = tf.io.decode_and_crop_jpeg(data, tf.stack(window), channels=3, dct_method="INTEGER_FAST")
    return _scaled(part)


def decode_small(data: Tensor) -> Tensor:
    """Decode a whole JPEG and scale it to what is kept in memory.

    Args:
        data: The file's bytes.

    Returns:
        uint8 (256, 256, 3).
    """
    image = tf.io.decode_jpeg(data, channels=3, dct_method="INTEGER_FAST")
    small = tf.image.resize(image, (_KEPT_SIDE, _KEPT_SIDE))
    return tf.cast(tf.round(small), tf.uint8)


def _window(shape: Tensor) -> tuple[Tensor, ...]:
    """Return top, left, height and width of a random part, as Inception's training took it."""
    whole = tf.constant([0.0, 0.0, 1.0, 1.0], shape=(1, 1, 4))
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        shape,
        whole,
        area_range=_AREA,
        aspect_ratio_range=_ASPECT,
        max_attempts=10,
        use_image_if_no_bounding_boxes=True,
    )
    return begin[0], begin[1], size[0], size[1]


def _scaled(image: Tensor) -> Tensor:
    return tf.image.resize(image, (SIDE, SIDE)) / 255.0


def _side_by_side(dataset: Dataset, function: Callable[..., Any]) -> Dataset:
    return dataset.map(function, num_parallel_calls=_n_threads(), deterministic=False)


def _cropped(image: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
    part = tf.image.random_crop(image, (SIDE, SIDE, 3))
    return tf.cast(part, tf.float32) / 255.0, label


def _loaded(decode: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Tensor], tuple[Tensor, ...]]:
    return lambda path, label: (decode(tf.io.read_file(path)), label)


def _parsed(decode: Callable[[Tensor], Tensor]) -> Callable[[Tensor], tuple[Tensor, ...]]:
    def parse(record: Tensor) -> tuple[Tensor, ...]:
        features = tf.io.parse_single_example(
            record,
            {
                "image/encoded": tf.io.FixedLenFeature((), tf.string),
                "image/class/label": tf.io.FixedLenFeature((), tf.int64),
            },
        )
        return decode(features["image/encoded"]), features["image/class/label"]

    return parse


def _one_by_one(batches: Dataset) -> Dataset:
    # TensorFlow makes some maps parallel by itself, and others not.
    options = tf.data.Options()
    options.experimental_optimization.map_parallelization = False
    return batches.with_options(options)


def _n_threads() -> int:
    return max(N_READERS, n_cores())


def _fed(batches: Dataset) -> Dataset:
    # Threads that no other part of TensorFlow uses.
    options = tf.data.Options()
    options.threading.private_threadpool_size = _n_threads()
    options.deterministic = False
    return batches.prefetch(tf.data.AUTOTUNE).with_options(options)
