"""How long a GPU waits for its images: JPEG files one by one, with many readers, and shards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader

from tests.lab.gpu.bench import Bench
from tests.lab.gpu.networks import BY_NAME, Load, Training
from tests.lab.gpu.precisions import Precision
from tests.lab.gpu.tfrecords import WAYS

CHECKOUT = Path(__file__).resolve().parents[3]
BATCH = 64
N_ROUNDS = 3
MANY_IMAGES = 1 << 30
MOST_WORKERS = 32
# Of each of eleven measurements.
TFRECORD_S = 0.5


def measure_input(bench: Bench) -> None:
    """Train ResNet50 from each kind of files for a while."""
    if find_spec("PIL") is None:
        bench.found.untried("JPEG files against shards", "this Python has no PIL to decode with")
        return
    from tests.lab.gpu.image_files import JpegFiles, Shards, read_shard, write_jpegs, write_shards

    n_workers = min(MOST_WORKERS, len(os.sched_getaffinity(0))) if bench.is_gpu else 1
    jpegs = write_jpegs(bench.folder / "jpegs", bench.sizes.n_jpegs)
    shards = write_shards(bench.folder / "shards", jpegs, n_workers)
    n_copied = sum(1 for shard in shards for _ in read_shard(shard))
    bench.found.check("Shards hold each image", n_copied == len(jpegs), n_copied)
    bench.found.fact("jpeg_kb", round(sum(p.stat().st_size for p in jpegs) / len(jpegs) / 1e3, 1))
    bench.found.fact("n_jpegs", len(jpegs))
    batch = bench.sizes.batch or BATCH
    ways: dict[str, tuple[str, Any, int]] = {
        "jpeg_one_by_one": ("JPEG files read one after the other", JpegFiles, 0),
        "jpeg_many_readers": (f"JPEG files with {n_workers} reading processes", JpegFiles, -1),
        "shards_many_readers": (f"shards with {n_workers} reading processes", Shards, -1),
    }
    training = Training(_load(bench, batch), bench)
    _tell_pace(bench, training, batch)
    for name, (words, make, workers) in ways.items():
        forget(jpegs + shards)
        files = JpegFiles(jpegs, MANY_IMAGES) if make is JpegFiles else Shards(shards)
        loader = DataLoader(
            files,
            batch_size=batch,
            num_workers=n_workers if workers else 0,
            pin_memory=bench.is_gpu,
        )
        _watch(bench, name, words, _on_device(loader, bench), training, batch)
    _measure_tfrecords(bench)


def _measure_tfrecords(bench: Bench) -> None:
    what = "TFRecord files through dsportal.data"
    if find_spec("tensorflow") is None:
        bench.found.untried(what, "TensorFlow is not installed for this Python")
        return
    folders = (str(bench.folder / "jpegs"), str(bench.folder / "tfrecords"))
    done = subprocess.run(
        [sys.executable, "-m", "tests.lab.gpu.tfrecords", *folders, str(TFRECORD_S)],
        capture_output=True,
        text=True,
        timeout=max(1.0, bench.left_s),
        check=False,
    )
    bench.found.check(f"{what} are written and read", done.returncode == 0, done.stderr[-500:])
    for way, images_per_s in json.loads(done.stdout or "{}").items():
        bench.found.figure(
            f"tensorflow_{way.replace(' ', '_')}_images_per_s",
            f"dsportal.data through TensorFlow: {WAYS[way]}, read, decoded and cut to 224 x 224, "
            "nothing trained; out of the page cache at the start",
            [images_per_s],
        )


def _load(bench: Bench, batch: int) -> Load:
    has_bf16 = Precision.BF16.why_not(bench.device) is None
    precision = Precision.BF16 if has_bf16 else Precision.FP16
    return Load(network=BY_NAME["resnet50"], precision=precision, batch=batch, side=224)


def _tell_pace(bench: Bench, training: Training, batch: int) -> None:
    bench.found.figure(
        "input_none_images_per_s",
        f"ResNet50 in training, batches of {batch} that are on the device already: what the "
        "pipelines below could reach",
        [batch / step_s for step_s in bench.rounds(training)],
    )


def _on_device(loader: Iterable[Any], bench: Bench) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    for images, labels in loader:
        moved = images.to(bench.device, non_blocking=True)
        yield (
            moved.float().div_(255).to(memory_format=torch.channels_last),
            labels.to(bench.device, non_blocking=True),
        )


def _watch(
    bench: Bench,
    name: str,
    words: str,
    batches: Iterator[tuple[torch.Tensor, torch.Tensor]],
    training: Training,
    batch: int,
) -> None:
    """Train for some seconds; tell the pace, and the share of time without work for the GPU."""
    paces, waited = [], []
    for images, labels in islice(batches, 2):
        training.step(images, labels)
    bench.wait()
    for _ in range(min(bench.sizes.n_rounds, N_ROUNDS)):
        began_s = time.perf_counter()
        n_steps, worked_s = 0, []
        while not n_steps or time.perf_counter() - began_s < bench.sizes.epoch_s / N_ROUNDS:
            images, labels = next(batches)
            worked_s.append(_Stopwatch(bench))
            with worked_s[-1]:
                training.step(images, labels)
            n_steps += 1
        bench.wait()
        took_s = time.perf_counter() - began_s
        paces.append(n_steps * batch / took_s)
        waited.append(100 * max(0.0, 1 - sum(watch.seconds for watch in worked_s) / took_s))
    label = (
        f"ResNet50 in training, batches of {batch} from {words}, decoded and cut to 224 x 224 by "
        "PIL; the page cache is asked to forget the files at the start, then they are read again "
        "and again"
    )
    bench.found.figure(f"input_{name}_images_per_s", label, paces)
    bench.found.figure(
        f"input_{name}_waited_percent",
        f"{label}: share of the time in which the {bench.device_words} had no step to compute",
        waited,
    )


class _Stopwatch:
    """The time that the device takes for what is in the block; read after the device has ended."""

    def __init__(self, bench: Bench) -> None:
        self._is_gpu = bench.is_gpu
        if self._is_gpu:
            self._marks = [torch.cuda.Event(enable_timing=True) for _ in range(2)]

    def __enter__(self) -> None:
        if self._is_gpu:
            self._marks[0].record()
        self._began_s = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        if self._is_gpu:
            self._marks[1].record()
        self._host_s = time.perf_counter() - self._began_s

    @property
    def seconds(self) -> float:
        if self._is_gpu:
            return self._marks[0].elapsed_time(self._marks[1]) / 1e3
        return self._host_s


def forget(paths: list[Path]) -> None:
    """Give the pages of files back, so that they are read from the disk."""
    program = CHECKOUT / "portal" / "data" / "forget.py"
    lines = "\n".join(map(str, paths))
    subprocess.run([sys.executable, program], input=lines, text=True, check=False)
