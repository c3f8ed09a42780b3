"""From folders of JPEG files to shards and back, in the kernel's own environment."""

from pathlib import Path

import pytest

pytestmark = [pytest.mark.cluster, pytest.mark.release]
CASES = ("write_and_read", "resume", "refuse", "interrupt", "slow_open")


@pytest.fixture(scope="module")
def outcomes(session):
    program = Path(__file__).with_name("data_cases.py")
    found = session.run_cases(program, CASES)
    return {name: outcome.value for name, outcome in found.items()}


def test_every_image_is_in_one_shard_as_it_was(outcomes):
    found = outcomes["write_and_read"]

    assert found["bytes"]
    assert found["made"].startswith("40 images in 4 of 4 shards, ")
    assert found["files"] == [f"shard-0000{n}-of-00004.tfrecord" for n in range(4)]
    assert found["classes"] == ["cat", "dog"]


@pytest.mark.parametrize("way", ["simple", "tuned", "cache", "jpeg"])
def test_every_way_of_reading_gives_each_image_once(outcomes, way):
    assert outcomes["write_and_read"][way] == [20, 20]


def test_a_stopped_conversion_goes_on_with_the_shards_that_are_not_whole(outcomes):
    found = outcomes["resume"]

    assert found["made"][0] == "shard-00001-of-00004.tfrecord"
    assert "shard-00000-of-00004.tfrecord" not in found["made"]
    assert "shard-00003-of-00004.tfrecord" not in found["made"]
    assert found["is_same"]


def test_a_stop_in_the_middle_leaves_no_half_shard_in_place(outcomes):
    found = outcomes["interrupt"]

    assert found["left"] == []
    assert found["made"].startswith("40 images in 4 of 4 shards, ")


def test_a_changed_byte_is_found_by_its_checksum(outcomes):
    assert outcomes["resume"]["damage"].startswith("shard-00003-of-00004.tfrecord in ")
    assert "call write_shards again" in outcomes["resume"]["damage"]


def test_a_file_that_is_no_jpeg_is_left_out_and_named(outcomes):
    words = outcomes["refuse"]["left_out"]

    assert words.startswith("40 images in 2 of 2 shards")
    assert "1 files are no JPEG and left out: cat/text.jpg" in words


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("no_images", "has no files that end with .jpg or .jpeg"),
        ("other_number", "holds 2 shards of other images, or of the same in another number"),
        ("other_images", "holds 2 shards of other images"),
        ("other_writer", "Another process is writing shards into"),
        ("no_shards", "holds no shards. Make them with write_shards"),
        ("no_rights", "cannot be written into /proc/shards"),
    ],
)
def test_what_cannot_be_done_is_said_with_the_next_step(outcomes, case, words):
    assert words in outcomes["refuse"][case]


def test_files_that_take_20_ms_to_open_come_at_50_a_second_to_one_reader(outcomes):
    found = outcomes["slow_open"]

    assert 10 < found["files"] <= 52
    assert found["readers"] > 2 * found["files"]
    assert found["limits"] == ["storage", "decoding"]
    assert "each opening of a file made 20 ms slower" in found["words"]
    assert "The model takes 10 images/s x 0.001 MB" in found["words"]
