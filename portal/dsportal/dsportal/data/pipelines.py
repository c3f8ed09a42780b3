"""tf.data pipelines for JPEG files and shards, simple and tuned.

All give batches of float32 (n, 224, 224, 3), 0 to 1, and labels: a random crop of each image, as
usual for ImageNet. They differ in how the bytes are read and when they are decoded.

    from dsportal.data import read_jpegs, read_shards

    model.fit(read_shards("isilon/photos-shards", batch_size=256))
"""

import os
import time
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from dsportal.data.images import find_images
from dsportal.data.shards import open_shards

SIDE = 224
_KEPT_SIDE = 256
# Reads in flight, each in a thread of its own: they wait for storage, not for a core.
N_READERS = 32
_CYCLE = 16
_SHUFFLED_IMAGES = 2_048
_AREA = (0.08, 1.0)
_ASPECT = (3 / 4, 4 / 3)

Tensor = Any
Dataset = Any


def read_jpegs(
    folder: str | os.PathLike[str], *, batch_size: int, tuned: bool = True, open_ms: float = 0
) -> Dataset:
    """Read a folder of JPEG files.

    Args:
        folder: Folder with one subfolder for each class.
        tuned: Use many readers in threads of their own, decode only the crop, and prefetch batches;
            otherwise read one file after the other.
        open_ms: Milliseconds that each reader waits before it opens a file, as if storage were
            slower.

    Returns:
        A dataset: one pass over all images.
    """
    found = find_images(folder)
    files = tf.data.Dataset.from_tensor_slices((found.paths(), found.labels()))
    # Consecutive files share a class. Names are small, so all of them are shuffled.
    files = files.shuffle(len(found.images))
    if not tuned:
        return _one_by_one(files.map(_loaded(decode_then_crop, open_ms)).batch(batch_size))
    return _fed(_side_by_side(files, _loaded(crop_while_decoding, open_ms)).batch(batch_size))


def read_shards(
    folder: str | os.PathLike[str],
    *,
    batch_size: int,
    tuned: bool = True,
    cache: bool = False,
    open_ms: float = 0,
) -> Dataset:
    """Read shards of TFRecords written by `write_shards`.

    Args:
        tuned: Read several shards at a time, decode only the crop, on all cores in threads of their
            own, and prefetch batches; otherwise read one record after the other.
        cache: Decode each image only once and keep it in memory at 256 x 256 pixels, 192 KiB; the
            random crop is then a 224 x 224 square of it.
        open_ms: As in `read_jpegs`.

    Returns:
        A dataset: one pass over all images.
    """
    paths = open_shards(folder).paths()

    def read(path: Tensor) -> Dataset:
        return tf.data.TFRecordDataset(opened(path, open_ms))

    if not tuned:
        records = tf.data.Dataset.from_tensor_slices(paths).flat_map(read)
        return _one_by_one(records.map(_parsed(decode_then_crop)).batch(batch_size))
    files = tf.data.Dataset.from_tensor_slices(paths).shuffle(len(paths))
    records = files.interleave(
        read, cycle_length=_CYCLE, num_parallel_calls=_CYCLE, deterministic=False
    )
    if cache:
        decoded = _side_by_side(records, _parsed(decode_small)).cache()
        images = _side_by_side(decoded.shuffle(_SHUFFLED_IMAGES), _cropped)
    else:
        # Shuffled before decoding, while they are small.
        images = _side_by_side(records.shuffle(_SHUFFLED_IMAGES), _parsed(crop_while_decoding))
    # Batched after decoding: every image has the same size by then.
    return _fed(images.batch(batch_size))


def n_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def decode_then_crop(data: Tensor) -> Tensor:
    """Return a random crop of a JPEG as float32 (224, 224, 3), 0 to 1, after decoding all of it."""
    image = tf.io.decode_jpeg(data, channels=3)
    top, left, height, width = _window(tf.shape(image))
    return _scaled(tf.image.crop_to_bounding_box(image, top, left, height, width))


def crop_while_decoding(data: Tensor) -> Tensor:
    """Return a random crop of a JPEG as float32 (224, 224, 3), 0 to 1; nothing else is decoded."""
    window = _window(tf.io.extract_jpeg_shape(data))
    # INTEGER_FAST gives up some exactness for speed.
    part = tf.io.decode_and_crop_jpeg(data, tf.stack(window), channels=3, dct_method="INTEGER_FAST")
    return _scaled(part)


def decode_small(data: Tensor) -> Tensor:
    """Return a whole JPEG resized for the cache, as uint8 (256, 256, 3)."""
    image = tf.io.decode_jpeg(data, channels=3, dct_method="INTEGER_FAST")
    small = tf.image.resize(image, (_KEPT_SIDE, _KEPT_SIDE))
    return tf.cast(tf.round(small), tf.uint8)


def opened(path: Tensor, open_ms: float) -> Tensor:
    """Return a `path` after `open_ms` milliseconds; several readers wait side by side."""
    if not open_ms:
        return path

    def wait(given: Any) -> Any:
        time.sleep(open_ms / 1000)
        return given

    waited = tf.numpy_function(wait, [path], tf.string)
    waited.set_shape(())
    return waited


def _window(shape: Tensor) -> tuple[Tensor, ...]:
    """Return top, left, height and width of a random crop, as in Inception's training."""
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
    # In any order: one slow file must not hold up those behind it.
    return dataset.map(function, num_parallel_calls=_n_threads(), deterministic=False)


def _cropped(image: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
    part = tf.image.random_crop(image, (SIDE, SIDE, 3))
    return tf.cast(part, tf.float32) / 255.0, label


def _loaded(
    decode: Callable[[Tensor], Tensor], open_ms: float
) -> Callable[[Tensor, Tensor], tuple[Tensor, ...]]:
    return lambda path, label: (decode(tf.io.read_file(opened(path, open_ms))), label)


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
    # TensorFlow would parallelize some maps by itself.
    options = tf.data.Options()
    options.experimental_optimization.map_parallelization = False
    return batches.with_options(options)


def _n_threads() -> int:
    return max(N_READERS, n_cores())


def _fed(batches: Dataset) -> Dataset:
    # A thread pool of its own: waiting reads do not take threads from the rest of TensorFlow.
    options = tf.data.Options()
    options.threading.private_threadpool_size = _n_threads()
    options.deterministic = False
    return batches.prefetch(tf.data.AUTOTUNE).with_options(options)
