"""Packs a folder of JPEG files into TFRecord shards: parallel, resumable, checksummed.

    from dsportal.data import verify_shards, write_shards

    shards = write_shards("isilon/photos", "isilon/photos-shards")
    verify_shards("isilon/photos-shards")

Files are copied into the records unchanged; nothing is decoded. Images are shuffled once, so that
each shard holds images of all classes.
"""

import fcntl
import os
import random
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import tensorflow as tf

from dsportal.data.bar import Bar
from dsportal.data.images import JPEG_START, ImageFolder, RawImage, find_images
from dsportal.data.manifest import Shard, ShardFolder, checksum, read_manifest, write_manifest
from dsportal.errors import DataError

# TensorFlow's guide: shards of 10 MB or more, and 10 times as many shards as readers.
SHARD_BYTES = 128 << 20
LEAST_SHARDS = 16
N_WORKERS = 16
_SEED = 2018
_LOCK = ".writing"


def write_shards(
    images: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    n_shards: int = 0,
    n_workers: int = N_WORKERS,
) -> ShardFolder:
    """Write the JPEG files of a folder into shards; continue if an earlier call was stopped.

    Args:
        images: Folder with one subfolder for each class, or with the files themselves.
        target: Folder of the shards; created if missing.
        n_shards: Number of shards; 0 for one for each 128 MiB, at least 16.
        n_workers: Shards to write at a time. Workers mostly wait for storage.

    Raises:
        DataError: If there are no images, or if the target holds shards of something else, is
            being written by another process, or cannot be written.

    Source:
        https://www.tensorflow.org/tutorials/load_data/tfrecord
    """
    source = find_images(images)
    folder = Path(target).expanduser().absolute()
    n_wanted = n_shards or max(LEAST_SHARDS, -(-source.n_bytes // SHARD_BYTES))
    plan = ShardFolder(
        path=folder,
        digest=source.digest,
        # No shard without an image.
        n_shards=min(n_wanted, len(source.images)),
        classes=source.classes,
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _lock(folder):
            return _Writing(source, _resumed(plan)).run(n_workers)
    except (OSError, tf.errors.OpError) as error:
        reason = getattr(error, "strerror", None) or getattr(error, "message", error)
        raise DataError(
            f"The shards cannot be written into {folder}: {reason}. Complete shards stay. "
            "Call it again in the same way to continue."
        ) from error


def verify_shards(target: str | os.PathLike[str]) -> ShardFolder:
    """Read all shards again and compare their checksums.

    Raises:
        DataError: If a shard is missing or damaged, or the folder is incomplete.
    """
    found = open_shards(target)
    with ThreadPoolExecutor(N_WORKERS) as pool:
        sums = list(pool.map(_checksum_or_nothing, map(Path, found.paths())))
    damaged = [
        shard.name
        for shard, checked in zip(found.shards, sums, strict=True)
        if checked != shard.sha256
    ]
    if damaged:
        raise DataError(
            f"{', '.join(damaged)} in {found.path} is missing or damaged. Delete its remains and "
            "call write_shards again: it writes the missing shards."
        )
    return found


def open_shards(target: str | os.PathLike[str]) -> ShardFolder:
    """Read the manifest of a complete folder of shards.

    Returns:
        The folder. The shards themselves are not read.

    Raises:
        DataError: If it holds no shards, or not all of them.
    """
    folder = Path(target).expanduser().absolute()
    found = read_manifest(folder)
    if found is None:
        raise DataError(f"{folder} holds no shards. Make them with write_shards(images, target).")
    if len(found.shards) < found.n_shards:
        raise DataError(
            f"{folder} has {len(found.shards)} of {found.n_shards} shards. "
            "Call write_shards again in the same way: it continues where it was."
        )
    return found


class _Writing:
    """One call of `write_shards`."""

    def __init__(self, source: ImageFolder, folder: ShardFolder) -> None:
        self._source = source
        self._folder = folder
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._n_done = folder.n_images + len(folder.refused)

    def run(self, n_workers: int) -> ShardFolder:
        """Write the missing shards and return the complete folder."""
        bar = Bar(len(self._source.images), "images", self._n_done)
        have = {shard.name for shard in self._folder.shards}
        parts = _parts(self._source.images, self._folder.n_shards)
        with ThreadPoolExecutor(n_workers) as pool:
            left = {
                pool.submit(self._write, name, part) for name, part in parts if name not in have
            }
            try:
                while left:
                    # The timeout keeps the bar moving while no shard is complete.
                    done, left = wait(left, timeout=0.2, return_when=FIRST_COMPLETED)
                    self._note(done)
                    bar.draw(self._n_done)
            except BaseException:
                self._stop.set()
                for future in left:
                    future.cancel()
                raise
        bar.draw(self._n_done, is_end=True)
        return self._folder

    def _note(self, done: set[Future[Shard]]) -> None:
        finished = (future.result() for future in done)
        shards = sorted((*self._folder.shards, *finished), key=lambda shard: shard.name)
        self._folder = replace(self._folder, shards=tuple(shards))
        if done:
            write_manifest(self._folder)

    def _write(self, name: str, images: Sequence[RawImage]) -> Shard:
        path = self._folder.path / name
        # A shard gets its name when it is complete; what a stopped call leaves is written again.
        new = path.with_name(f".{name}.new")
        refused = []
        with tf.io.TFRecordWriter(str(new)) as writer:
            for image in images:
                # Checked for each image, so that an interrupt does not wait for a whole shard.
                if self._stop.is_set():
                    break
                data = (self._source.path / image.name).read_bytes()
                # By content, not by name: a file called .jpg may hold anything.
                if data.startswith(JPEG_START):
                    writer.write(_record(image, data))
                else:
                    refused.append(image.name)
                with self._lock:
                    self._n_done += 1
        n_images = len(images) - len(refused)
        shard = Shard(name, n_images, new.stat().st_size, checksum(new), tuple(refused))
        if not self._stop.is_set():
            os.replace(new, path)
        return shard


def _resumed(plan: ShardFolder) -> ShardFolder:
    # The plan, with the shards that an earlier call completed.
    found = read_manifest(plan.path)
    if found is None:
        return plan
    if (found.digest, found.n_shards) != (plan.digest, plan.n_shards):
        raise DataError(
            f"{plan.path} holds {found.n_shards} shards of other images, or of the same in another "
            "number of shards. Choose another folder, or delete that one."
        )
    # By size: checksums would read all of them again, which is what `verify_shards` does.
    present = [
        shard for shard in found.shards if _size_or_nothing(plan.path / shard.name) == shard.n_bytes
    ]
    return replace(found, shards=tuple(present))


def _parts(images: Sequence[RawImage], n_shards: int) -> Iterator[tuple[str, Sequence[RawImage]]]:
    shuffled = list(images)
    # The same order in each call, so that a stopped one can be resumed.
    random.Random(_SEED).shuffle(shuffled)  # noqa: S311
    for number in range(n_shards):
        # Every n-th image, so that shards differ by one image at most.
        yield f"shard-{number:05d}-of-{n_shards:05d}.tfrecord", shuffled[number::n_shards]


def _record(image: RawImage, data: bytes) -> bytes:
    """Return a tf.train.Example with the keys used in ImageNet's shards since 2016."""
    name = os.fsencode(image.name)
    features = {
        "image/encoded": tf.train.Feature(bytes_list=tf.train.BytesList(value=[data])),
        "image/filename": tf.train.Feature(bytes_list=tf.train.BytesList(value=[name])),
        "image/class/label": tf.train.Feature(int64_list=tf.train.Int64List(value=[image.label])),
    }
    example = tf.train.Example(features=tf.train.Features(feature=features))
    written: bytes = example.SerializeToString()
    return written


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    with (folder / _LOCK).open("w") as file:
        try:
            # The kernel releases it when the process ends, however it ends.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DataError(
                f"Another process is writing shards into {folder}. Wait for it, or choose another "
                "folder."
            ) from error
        yield


def _size_or_nothing(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None


def _checksum_or_nothing(path: Path) -> str | None:
    try:
        return checksum(path)
    except OSError:
        return None
