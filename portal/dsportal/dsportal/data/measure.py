"""Measures images/s of reading alone, of decoding alone, and of whole pipelines."""

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf

from dsportal.data import pipelines
from dsportal.data.images import find_images
from dsportal.data.shards import open_shards

BATCH_SIZE = 32
# Files for which decoding alone is measured; they are held in memory.
_N_DECODED = 256
# Most images to measure the cache with: decoded they take 0.8 GB.
_MOST_CACHED = 4_096
Dataset = Any


@dataclass(frozen=True, slots=True)
class Order:
    """What to measure.

    Args:
        shards: Folder of shards of the same images.
        seconds: Approximate length of each measurement.
        open_ms: Milliseconds that each opening of a file takes longer.
    """

    jpegs: str
    shards: str
    seconds: float
    open_ms: float = 0


@dataclass(frozen=True, slots=True)
class Rate:
    """Throughput of one way to read, with the mean number of busy cores."""

    images_per_s: float
    cores: float


def measure_all(order: Order) -> dict[str, Rate]:
    """Measure every way to read, each from storage: the page cache is emptied before.

    Returns:
        Rates by name: a key of `dsportal.data.report.WAYS` for a pipeline, `read ...` for reading
        alone, `decode ...` for decoding from memory alone.
    """
    paths = [*find_images(order.jpegs).paths(), *open_shards(order.shards).paths()]
    rates = {}
    for name, dataset in _datasets(order):
        drop_from_cache(paths)
        rates[name] = _rate(dataset, order.seconds)
    return rates


def drop_from_cache(paths: Iterable[str]) -> None:
    """Drop files from the kernel's page cache, so that the next read comes from storage.

    No rights are needed for one's own files and for readable files of others.

    Source:
        posix_fadvise(2), POSIX_FADV_DONTNEED.
    """
    for path in paths:
        # A file system may have no page cache.
        with suppress(OSError), open(path, "rb") as file:
            # DONTNEED skips dirty pages.
            os.fdatasync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _datasets(order: Order) -> Iterator[tuple[str, Dataset]]:
    how: Any = {"batch_size": BATCH_SIZE, "open_ms": order.open_ms}
    for tuned, word in ((False, "simple"), (True, "tuned")):
        yield f"jpeg {word}", pipelines.read_jpegs(order.jpegs, tuned=tuned, **how)
        yield f"shards {word}", pipelines.read_shards(order.shards, tuned=tuned, **how)
        yield f"read jpeg {word}", _only_jpegs(order, tuned)
        yield f"read shards {word}", _only_shards(order, tuned)
        yield f"decode {word}", _only_decoding(order.jpegs, tuned)
    n_images = open_shards(order.shards).n_images
    if n_images <= _MOST_CACHED:
        cached = pipelines.read_shards(order.shards, cache=True, **how)
        # The first pass fills the cache, so it is skipped.
        yield "cache", cached.repeat().skip(-(-n_images // BATCH_SIZE))


def _only_jpegs(order: Order, tuned: bool) -> Dataset:
    paths = find_images(order.jpegs).paths()
    n_readers = pipelines.N_READERS if tuned else None
    files = tf.data.Dataset.from_tensor_slices(paths).shuffle(len(paths))

    def size(path: Any) -> Any:
        return tf.strings.length(tf.io.read_file(pipelines.opened(path, order.open_ms)))

    # Only lengths go on, so that batching copies no images.
    sizes = files.map(size, n_readers)
    return _in_threads(sizes.batch(BATCH_SIZE), n_readers)


def _only_shards(order: Order, tuned: bool) -> Dataset:
    paths = open_shards(order.shards).paths()
    n_readers = min(pipelines.N_READERS, len(paths)) if tuned else None
    files = tf.data.Dataset.from_tensor_slices(paths)

    def read(path: Any) -> Dataset:
        return tf.data.TFRecordDataset(pipelines.opened(path, order.open_ms))

    records = files.interleave(read, n_readers or 1, 1, n_readers)
    return _in_threads(records.map(tf.strings.length).batch(BATCH_SIZE), n_readers)


def _only_decoding(folder: str, tuned: bool) -> Dataset:
    paths = find_images(folder).paths()
    files = [Path(path).read_bytes() for path in paths[:: -(-len(paths) // _N_DECODED)]]
    decode = pipelines.crop_while_decoding if tuned else pipelines.decode_then_crop
    n_calls = pipelines.N_READERS if tuned else None
    images = tf.data.Dataset.from_tensor_slices(files).map(decode, n_calls)
    return _in_threads(images.batch(BATCH_SIZE), n_calls)


def _in_threads(dataset: Dataset, n_threads: int | None) -> Dataset:
    options = tf.data.Options()
    if n_threads:
        options.threading.private_threadpool_size = n_threads
    else:
        # TensorFlow would parallelize some maps by itself.
        options.experimental_optimization.map_parallelization = False
    return dataset.with_options(options)


def _rate(dataset: Dataset, seconds: float) -> Rate:
    batches = iter(dataset.repeat())
    # The first batch includes the start of threads and prefetching.
    next(batches)
    began_s, used_s = time.monotonic(), time.process_time()
    n_images = 0
    while time.monotonic() - began_s < seconds:
        n_images += _length(next(batches))
    took_s = time.monotonic() - began_s
    return Rate(n_images / took_s, (time.process_time() - used_s) / took_s)


def _length(batch: Any) -> int:
    first = batch[0] if isinstance(batch, tuple) else batch
    return int(first.shape[0])
