"""What dsportal.data does with folders of images, run inside a session in TensorFlow's kernel.

Prints a line for each case, OUTCOME and JSON, as tests/support/launch_cases.py does.
"""

import io
import json
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image

from dsportal.data import (
    find_images,
    read_jpegs,
    read_shards,
    storage_report,
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


def make_images(place: Path) -> Path:
    folder = place / "jpeg"
    for number in range(N_IMAGES):
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


def main() -> None:
    """Run the cases that the command line names."""
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory(prefix="data-") as place:
            value = globals()[f"case_{name}"](Path(place))
        print(f"\nOUTCOME {json.dumps({'case': name, 'value': value})}", flush=True)


if __name__ == "__main__":
    main()
