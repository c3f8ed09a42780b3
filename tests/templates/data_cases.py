"""What dsportal.data does with folders of images, run inside a session in TensorFlow's kernel.

Prints a line for each case, OUTCOME and JSON, as tests/support/launch_cases.py does.
"""

import fcntl
import io
import json
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import SimpleNamespace

from PIL import Image

import dsportal.data.shards
from dsportal.data import (
    DataError,
    find_images,
    read_jpegs,
    read_shards,
    storage_report,
    verify_shards,
    write_shards,
)

N_IMAGES = 40


def case_write_and_read(place: Path) -> dict[str, object]:
    """Write shards, and read them in every way.

    Args:
        place: An empty folder.

    Returns:
        What was written, and how many images of each label each way gave.
    """
    jpegs = make_images(place)
    made = write_shards(jpegs, place / "shards", n_shards=4)
    return {
        "made": repr(made),
        "classes": made.classes,
        "files": sorted(path.name for path in made.path.glob("*.tfrecord")),
        "simple": counts(read_shards(made.path, batch_size=7, tuned=False)),
        "tuned": counts(read_shards(made.path, batch_size=7)),
        "cache": counts(read_shards(made.path, batch_size=7, cache=True)),
        "jpeg": counts(read_jpegs(jpegs, batch_size=7)),
        "bytes": stored_bytes(made.path) == {p.read_bytes() for p in jpegs.rglob("*.jpg")},
    }


def case_resume(place: Path) -> dict[str, object]:
    """Take two shards of four away, as a stopped call leaves them, and write again.

    Args:
        place: An empty folder.

    Returns:
        Which shards were made anew, and whether all is as it was.
    """
    jpegs = make_images(place)
    first = write_shards(jpegs, place / "shards", n_shards=4)
    paths = [Path(path) for path in first.paths()]
    paths[1].unlink()
    paths[2].write_bytes(paths[2].read_bytes()[:100])
    paths[3].with_name(f".{paths[3].name}.new").write_bytes(b"left")
    before = {path.name: path.stat().st_ino for path in paths if path.exists()}
    again = write_shards(jpegs, place / "shards", n_shards=4)
    made = [path.name for path in paths if path.stat().st_ino != before.get(path.name)]
    return {"made": made, "is_same": again == first, "damage": damage(first.path, paths[3])}


def case_refuse(place: Path) -> dict[str, object]:
    """Ask for what cannot be.

    Args:
        place: An empty folder.
    """
    jpegs = make_images(place)
    (jpegs / "cat" / "text.jpg").write_text("no image")
    left_out = write_shards(jpegs, place / "shards", n_shards=2)
    (place / "empty").mkdir()
    other = make_images(place, name="other", n_images=N_IMAGES + 1)
    return {
        "other_images": said(write_shards, other, place / "shards", n_shards=2),
        "other_writer": said_while_locked(jpegs, place / "locked"),
        "left_out": repr(left_out),
        "no_images": said(write_shards, place / "empty", place / "other"),
        "other_number": said(write_shards, jpegs, place / "shards", n_shards=3),
        "no_shards": said(verify_shards, place / "empty"),
        "no_rights": said(write_shards, jpegs, "/proc/shards"),
    }


def case_interrupt(place: Path) -> dict[str, object]:
    """Stop while every shard is half written, then write again.

    Args:
        place: An empty folder.

    Returns:
        The shards that lay there after the stop, and what the second call made.
    """
    jpegs = make_images(place)
    stopped, half_written = threading.Event(), threading.Barrier(5)
    record = dsportal.data.shards._record

    class Stop(threading.Event):
        def set(self):
            super().set()
            stopped.set()

    class InterruptedBar:
        def __init__(self, *words):
            pass

        def draw(self, *words):
            half_written.wait(30)
            raise KeyboardInterrupt

    def slow_record(image, data):
        if not stopped.is_set():
            half_written.wait(30)
            stopped.wait(30)
        return record(image, data)

    changed = {
        "threading": SimpleNamespace(Event=Stop, Lock=threading.Lock),
        "Bar": InterruptedBar,
        "_record": slow_record,
    }
    kept = {name: getattr(dsportal.data.shards, name) for name in changed}
    try:
        vars(dsportal.data.shards).update(changed)
        write_shards(jpegs, place / "shards", n_shards=4, n_workers=4)
    except KeyboardInterrupt:
        left = sorted(path.name for path in (place / "shards").glob("shard-*"))
    finally:
        vars(dsportal.data.shards).update(kept)
    write_shards(jpegs, place / "shards", n_shards=4)
    return {"left": left, "made": repr(verify_shards(place / "shards"))}


def case_slow_open(place: Path) -> dict[str, object]:
    """Measure with 20 ms more for each opening.

    Args:
        place: An empty folder.

    Returns:
        Rates of reading alone and the words of the report.
    """
    jpegs = make_images(place)
    shards = write_shards(jpegs, place / "shards", n_shards=4).path
    began_s = time.monotonic()
    find_images(jpegs)
    report = storage_report(jpegs, shards, open_ms=20, gpu_images_per_s=10, seconds=0.4)
    return {
        "files": report.rates["read jpeg simple"].images_per_s,
        "readers": report.rates["read jpeg tuned"].images_per_s,
        "limits": [report.limit("jpeg simple"), report.limit("decode tuned")],
        "words": repr(report),
        "took_s": time.monotonic() - began_s,
    }


def make_images(place: Path, name: str = "jpeg", n_images: int = N_IMAGES) -> Path:
    folder = place / name
    for number in range(n_images):
        path = folder / ("cat", "dog")[number % 2] / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        written = io.BytesIO()
        Image.new("RGB", (120, 90), (number, 90, 255 - number)).save(written, "jpeg")
        path.write_bytes(written.getvalue())
    return folder


def counts(dataset) -> list[int]:
    labels = [int(label) for _, batch in dataset for label in batch]
    return [labels.count(0), labels.count(1)]


def stored_bytes(folder: Path) -> set[bytes]:
    import tensorflow as tf

    records = tf.data.TFRecordDataset([str(path) for path in folder.glob("*.tfrecord")])
    examples = (tf.train.Example.FromString(record.numpy()) for record in records)
    return {each.features.feature["image/encoded"].bytes_list.value[0] for each in examples}


def damage(folder: Path, shard: Path) -> str:
    data = bytearray(shard.read_bytes())
    data[50] ^= 1
    shard.write_bytes(data)
    return said(verify_shards, folder)


def said_while_locked(jpegs: Path, target: Path) -> str:
    target.mkdir()
    with (target / ".writing").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        return said(write_shards, jpegs, target)


def said(function, *arguments, **options) -> str:
    try:
        function(*arguments, **options)
    except DataError as error:
        return str(error)
    return ""


def main() -> None:
    """Run the cases that the command line names."""
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory(prefix="data-") as place:
            value = globals()[f"case_{name}"](Path(place))
        print(f"\nOUTCOME {json.dumps({'case': name, 'value': value})}", flush=True)


if __name__ == "__main__":
    main()
