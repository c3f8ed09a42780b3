"""What users do with shards, run in the environment of TensorFlow as `shard_cases.py CASE...`.

Prints a line for each case, OUTCOME and JSON, as tests/support/launch_cases.py does.
"""

import contextlib
import faulthandler
import fcntl
import hashlib
import io
import json
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import tensorflow as tf

from dsportal.data import DataError, open_shards, read_jpegs, shards, verify_shards, write_shards
from dsportal.data.images import ImageFolder, RawImage

LONGEST_S = 300
N_IMAGES = 40


def case_write(place: Path) -> dict[str, Any]:
    """Write 40 images, and a text that is called one, into a folder that is named from the home.

    Args:
        place: An empty folder, the home.

    Returns:
        What was made, what the records hold, and what was printed.
    """
    jpegs = make_images(place)
    (jpegs / "cat" / "text.jpg").write_text("no image")
    with printed() as lines:
        made = write_shards("~/jpeg", "~/data/shards", n_shards=4)
    records = read_records(made.path)
    return {
        "path": str(made.path.relative_to(place)),
        "files": sorted(path.name for path in made.path.iterdir()),
        "classes": made.classes,
        "n_images": [shard.n_images for shard in made.shards],
        "refused": made.refused,
        "sizes_are_right": all(
            (made.path / shard.name).stat().st_size == shard.n_bytes for shard in made.shards
        ),
        "sums_are_right": all(
            hashlib.sha256((made.path / shard.name).read_bytes()).hexdigest() == shard.sha256
            for shard in made.shards
        ),
        "labels": {name: label for _, name, label, _ in records},
        "bytes_are_right": all((jpegs / name).read_bytes() == data for _, name, _, data in records),
        "n_records": len(records),
        "labels_of_first": [label for shard, _, label, _ in records if "-00000-" in shard],
        "opened": open_shards("~/data/shards") == made,
        "verified": verify_shards("~/data/shards") == made,
        "last_line": lines[-1],
    }


def case_relative(place: Path) -> str:
    """Write into a folder that is named from the current one.

    Args:
        place: An empty folder.
    """
    os.chdir(make_images(place).parent)
    return str(write_shards("jpeg", "shards", n_shards=1).path.relative_to(place))


def case_numbers(place: Path) -> dict[str, int]:
    """Leave the number of shards to the portal, or ask for one.

    Args:
        place: An empty folder.

    Returns:
        The numbers of shards of images that are small, few, large, and of one shard.
    """
    small, few = make_images(place), make_images(place, "few", n_images=3)
    found = {
        "small": write_shards(small, place / "small").n_shards,
        "few": write_shards(few, place / "of-few").n_shards,
        "one": write_shards(small, place / "one", n_shards=1).n_shards,
    }
    n_bytes = sum(path.stat().st_size for path in small.rglob("*.jpg"))
    # So that they are 18 shards and a bit.
    with replaced("SHARD_BYTES", n_bytes // 18 - 1):
        return {**found, "large": write_shards(small, place / "large").n_shards}


def case_resume(place: Path) -> dict[str, Any]:
    """Take two shards of four away, as a stopped call leaves them, and write again, twice.

    Args:
        place: An empty folder.

    Returns:
        What is said before, which shards were made anew, and what was printed.
    """
    jpegs = make_images(place)
    (jpegs / "dog" / "text.jpg").write_text("no image")
    first = write_shards(jpegs, place / "shards", n_shards=4)
    paths = [Path(path) for path in first.paths()]
    paths[1].unlink()
    paths[2].write_bytes(paths[2].read_bytes()[:100])
    before = {path.name: path.stat().st_ino for path in paths if path.exists()}
    with printed() as lines:
        again = write_shards(jpegs, place / "shards", n_shards=4)
    with printed() as lines_of_nothing:
        write_shards(jpegs, place / "shards", n_shards=4)
    return {
        "made": [path.name for path in paths if path.stat().st_ino != before.get(path.name)],
        "is_same": again == first,
        "last_line": lines[-1],
        "last_line_of_nothing": lines_of_nothing[-1],
    }


def case_incomplete(place: Path) -> dict[str, str]:
    """Stop after the first of four shards, and open what is there.

    Args:
        place: An empty folder.

    Returns:
        What is said to that, and what is there after another call.
    """
    jpegs = make_images(place)
    checksum, write_manifest = shards.checksum, shards.write_manifest
    first, is_noted = "shard-00000-of-00004.tfrecord", threading.Event()

    def wait_after_first(path: Path) -> str:
        # Else all four may be whole before the first one is noted.
        if first not in path.name:
            is_noted.wait(LONGEST_S)
        return checksum(path)

    def stop_after(folder: Any) -> None:
        write_manifest(folder)
        is_noted.set()
        raise KeyboardInterrupt

    with (
        replaced("checksum", wait_after_first),
        replaced("write_manifest", stop_after),
        contextlib.suppress(KeyboardInterrupt),
    ):
        write_shards(jpegs, place / "shards", n_shards=4, n_workers=1)
    said = said_by(open_shards, place / "shards")
    return {"said": said, "made": repr(write_shards(jpegs, place / "shards", n_shards=4))}


def case_stop(place: Path) -> dict[str, Any]:
    """Stop while a shard is half written, and write again.

    Args:
        place: An empty folder.

    Returns:
        The shards that had a name after the stop, and the sums after another call and of a folder
        that was never stopped.
    """
    jpegs = make_images(place)
    half = threading.Event()
    record = shards._record
    n_written = 0

    class Stop(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            return super().wait(LONGEST_S)

    stop = Stop()

    def wait_half_way(image: Any, data: bytes) -> bytes:
        nonlocal n_written
        n_written += 1
        if n_written == N_IMAGES // 2:
            half.set()
            stop.wait()
        return record(image, data)

    class Bar(shards.Bar):
        def draw(self, n_done: int, *, is_end: bool = False) -> None:
            if half.is_set():
                raise KeyboardInterrupt

    with (
        replaced("threading", SimpleNamespace(Event=lambda: stop, Lock=threading.Lock)),
        replaced("_record", wait_half_way),
        replaced("Bar", Bar),
        contextlib.suppress(KeyboardInterrupt),
    ):
        write_shards(jpegs, place / "shards", n_shards=1, n_workers=1)
    stopped = [path.name for path in (place / "shards").glob("shard-*")]
    again = write_shards(jpegs, place / "shards", n_shards=1)
    fresh = write_shards(jpegs, place / "fresh", n_shards=1)
    return {
        "stopped": stopped,
        "again": [shard.sha256 for shard in again.shards],
        "fresh": [shard.sha256 for shard in fresh.shards],
    }


def case_digest(place: Path) -> dict[str, list[int]]:
    """Change one of 3,000 images after the other.

    Args:
        place: An empty folder.

    Returns:
        For each kind of change, the images for which the digest stayed the same.
    """
    images = [RawImage(f"cat/{number}.jpg", 0, number) for number in range(3_000)]
    changes = {
        "name": lambda image: [replace(image, name=f"{image.name}x")],
        "size": lambda image: [replace(image, n_bytes=image.n_bytes + 1)],
        "class": lambda image: [replace(image, label=1)],
        "one less": lambda image: [],
        "one more": lambda image: [image, replace(image, name=f"{image.name}x")],
    }
    before = ImageFolder(place, ("cat",), tuple(images)).digest
    return {
        name: [
            at
            for at in (0, 1, 999, 1_000, 1_500, 2_999)
            if before
            == ImageFolder(
                place, ("cat",), (*images[:at], *change(images[at]), *images[at + 1 :])
            ).digest
        ]
        for name, change in changes.items()
    }


def case_order(place: Path) -> dict[str, list[list[int]]]:
    """Read files twice, simply and fast.

    Args:
        place: An empty folder.
    """
    jpegs = make_images(place)
    data = tf.io.encode_jpeg(tf.zeros((16, 16, 3), tf.uint8)).numpy()
    for path in jpegs.rglob("*.jpg"):
        path.write_bytes(data)
    found = {}
    for is_tuned in (False, True):
        batches = read_jpegs(jpegs, batch_size=7, tuned=is_tuned)
        passes = [[int(label) for _, labels in batches for label in labels] for _ in range(2)]
        found["tuned" if is_tuned else "simple"] = passes
    return found


def case_bar(place: Path) -> dict[str, bool]:
    """Look at the bar while one shard is being written.

    Args:
        place: An empty folder.
    """
    moved = threading.Event()
    record = shards._record
    waits = []

    class Bar:
        def __init__(self, *words: object) -> None:
            pass

        def draw(self, n_done: int, *, is_end: bool = False) -> None:
            if 0 < n_done < N_IMAGES:
                moved.set()

    def slow_record(image: Any, data: bytes) -> bytes:
        waits.append(image)
        if len(waits) == N_IMAGES // 2:
            moved.wait(60)
        return record(image, data)

    jpegs = make_images(place)
    with replaced("Bar", Bar), replaced("_record", slow_record):
        write_shards(jpegs, place / "shards", n_shards=1)
    return {"moved": moved.is_set()}


def case_verify(place: Path) -> str:
    """Change a byte of one shard, take another away, and read all of them.

    Args:
        place: An empty folder.
    """
    made = write_shards(make_images(place), place / "shards", n_shards=4)
    paths = [Path(path) for path in made.paths()]
    data = bytearray(paths[1].read_bytes())
    data[50] ^= 1
    paths[1].write_bytes(data)
    paths[3].unlink()
    return said_by(verify_shards, made.path).replace(str(place), "PLACE")


def case_refuse(place: Path) -> dict[str, str]:
    """Ask for what cannot be.

    Args:
        place: An empty folder.
    """
    jpegs = make_images(place)
    target = write_shards(jpegs, place / "shards", n_shards=2).path
    other = make_images(place, "other", n_images=N_IMAGES + 1)
    (place / "empty").mkdir()
    # TensorFlow cannot write there, and says so in an error of its own.
    (place / "blocked" / ".shard-00000-of-00001.tfrecord.new").mkdir(parents=True)
    said = {
        "no_images": said_by(write_shards, place / "empty", place / "new"),
        "no_shards": said_by(open_shards, place / "empty"),
        "other_number": said_by(write_shards, jpegs, target, n_shards=3),
        "other_images": said_by(write_shards, other, target, n_shards=2),
        "other_writer": said_while_locked(jpegs, place / "locked"),
        "no_rights": said_by(write_shards, jpegs, "/proc/shards"),
        "blocked": said_by(write_shards, jpegs, place / "blocked", n_shards=1),
    }
    return {name: text.replace(str(place), "PLACE") for name, text in said.items()}


def make_images(place: Path, name: str = "jpeg", n_images: int = N_IMAGES) -> Path:
    # Nothing decodes them, so that the first bytes are enough.
    folder = place / name
    for number in range(n_images):
        path = folder / ("cat", "dog")[number * 2 // n_images] / f"{number:02}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\xff\xd8\xff" + bytes([number]) * (100 + number))
    return folder


def read_records(folder: Path) -> list[tuple[str, str, int, bytes]]:
    """Return shard, name, label and bytes of each image."""
    records = []
    for path in sorted(folder.glob("*.tfrecord")):
        for record in tf.data.TFRecordDataset([str(path)]):
            found = tf.train.Example.FromString(record.numpy()).features.feature
            name = found["image/filename"].bytes_list.value[0].decode()
            label = found["image/class/label"].int64_list.value[0]
            records.append((path.name, name, label, found["image/encoded"].bytes_list.value[0]))
    return records


@contextlib.contextmanager
def replaced(name: str, value: object) -> Iterator[None]:
    kept = getattr(shards, name)
    setattr(shards, name, value)
    try:
        yield
    finally:
        setattr(shards, name, kept)


@contextlib.contextmanager
def printed() -> Iterator[list[str]]:
    lines: list[str] = []
    with contextlib.redirect_stdout(io.StringIO()) as stream:
        yield lines
    lines += stream.getvalue().splitlines()


def said_while_locked(jpegs: Path, target: Path) -> str:
    target.mkdir()
    with (target / ".writing").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        return said_by(write_shards, jpegs, target)


def said_by(function: Any, *arguments: object, **options: object) -> str:
    try:
        function(*arguments, **options)
    except DataError as error:
        return str(error)
    return ""


def main() -> None:
    """Run the cases that the command line names."""
    # What hangs ends, even if nobody waits for it any more.
    faulthandler.dump_traceback_later(LONGEST_S, exit=True)
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory(prefix="shards-") as place:
            os.environ["HOME"] = place
            value = globals()[f"case_{name}"](Path(place))
            os.chdir("/")
        print(f"\nOUTCOME {json.dumps({'case': name, 'value': value})}", flush=True)


if __name__ == "__main__":
    main()
