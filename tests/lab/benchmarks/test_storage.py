"""What shards gain over JPEG files on storage that takes 3 ms to open a file."""

import statistics
from pathlib import Path

import pytest

from tests.lab.benchmarks.report import LEAST_ROUNDS, missed_of, spread_of, write_report
from tests.lab.benchmarks.sessions import SHARED_DIR, measure_in_session

pytestmark = pytest.mark.cluster

PROGRAM = Path(__file__).with_name("storage_rounds.py")
SHARED = ("digits_data.py", "made_photos.py")
WORDS = {
    "shards_vs_jpeg_3ms": "images/s from tuned TFRecord shards relative to JPEG files read one "
    "after the other, with 3 ms added to each open",
    "shards_vs_tuned_jpeg_3ms": "the same relative to JPEG files with 32 readers",
    "shards_images_per_s": "images/s from tuned shards",
}


def test_shards_are_read_several_times_faster_than_files_one_after_the_other(rounds: int) -> None:
    beside = [SHARED_DIR / name for name in SHARED]
    rows = measure_in_session(PROGRAM, str(rounds), environment="tensorflow", beside=beside)
    values = {
        "shards_vs_jpeg_3ms": [row["shards_tuned"] / row["jpeg_simple"] for row in rows],
        "shards_vs_tuned_jpeg_3ms": [row["shards_tuned"] / row["jpeg_tuned"] for row in rows],
        "shards_images_per_s": [row["shards_tuned"] for row in rows],
    }
    figures = {name: round(statistics.median(found), 2) for name, found in values.items()}

    write_report(
        "storage",
        title="Shards and JPEG files",
        figures=figures,
        words=WORDS,
        spread={name: spread_of(found, 2) for name, found in values.items()},
        rounds=len(rows),
        notes=(
            "1,000 images of 500 x 375 on the local disk. A library that is loaded before all "
            "others waits 3 ms in each open. Both are decoded and scaled on the machine's cores.",
        ),
    )
    if rounds >= LEAST_ROUNDS:
        assert missed_of("storage") == {}
