"""Measures images/s of reading alone, of decoding alone, and of whole pipelines.

As a program it reads an `Order` as JSON from standard input and prints rates as JSON.
"""

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf

from dsportal.data import pipelines
from dsportal.data.drop_page_cache import forget
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
    """

    jpegs: str
    shards: str
    seconds: float


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
        forget(paths)
        rates[name] = _rate(dataset, order.seconds)
    return rates


def _datasets(order: Order) -> Iterator[tuple[str, Dataset]]:
    for tuned, word in ((False, "simple"), (True, "tuned")):
        files = pipelines.read_jpegs(order.jpegs, batch_size=BATCH_SIZE, tuned=tuned)
        shards = pipelines.read_shards(order.shards, batch_size=BATCH_SIZE, tuned=tuned)
        yield f"jpeg {word}", files
        yield f"shards {word}", shards
        yield f"read jpeg {word}", _only_jpegs(order.jpegs, tuned)
        yield f"read shards {word}", _only_shards(order.shards, tuned)
        yield f"decode {word}", _only_decoding(order.jpegs, tuned)
    n_images = open_shards(order.shards).n_images
    if n_images <= _MOST_CACHED:
        cached = pipelines.read_shards(order.shards, batch_size=BATCH_SIZE, cache=True)
        # The first pass fills the cache, so it is skipped.
        yield "cache", cached.repeat().skip(-(-n_images // BATCH_SIZE))


def _only_jpegs(folder: str, tuned: bool) -> Dataset:
    paths = find_images(folder).paths()
    n_readers = pipelines.N_READERS if tuned else None
    files = tf.data.Dataset.from_tensor_slices(paths).shuffle(len(paths))
    # Only lengths go on, so that batching copies no images.
    sizes = files.map(lambda path: tf.strings.length(tf.io.read_file(path)), n_readers)
    return _in_threads(sizes.batch(BATCH_SIZE), n_readers)


def _only_shards(folder: str, tuned: bool) -> Dataset:
    paths = open_shards(folder).paths()
    n_readers = min(pipelines.N_READERS, len(paths)) if tuned else None
    files = tf.data.Dataset.from_tensor_slices(paths)
    records = files.interleave(tf.data.TFRecordDataset, n_readers or 1, 1, n_readers)
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


def main() -> None:
    """Measure what standard input asks for."""
    order = Order(**json.load(sys.stdin))
    # Standard output carries the result and nothing else.
    with contextlib.redirect_stdout(sys.stderr):
        rates = measure_all(order)
    json.dump({name: asdict(rate) for name, rate in rates.items()}, sys.stdout)


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    main()
