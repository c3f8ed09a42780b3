"""From folders of JPEG files to shards and back, in the kernel's own environment."""

from pathlib import Path

import pytest

pytestmark = [pytest.mark.cluster, pytest.mark.release]
CASES = ("write_and_read", "slow_open")


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


def test_files_that_take_20_ms_to_open_come_at_50_a_second_to_one_reader(outcomes):
    found = outcomes["slow_open"]

    assert 10 < found["files"] <= 52
    assert found["readers"] > 2 * found["files"]
    assert found["limits"] == ["storage", "decoding"]
    assert "each opening of a file made 20 ms slower" in found["words"]
    assert "The model takes 10 images/s x 0.001 MB" in found["words"]
