"""Shards as users write, open and verify them, with the TensorFlow of their kernel."""

from pathlib import Path

import pytest

from tests.support.tensorflow_cases import TensorFlowCases

pytestmark = pytest.mark.release
CASES = (
    *("write", "relative", "numbers", "resume", "incomplete", "stop", "digest", "order", "bar"),
    *("verify", "refuse"),
)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> TensorFlowCases:
    folder = tmp_path_factory.mktemp("shards")
    program = Path(__file__).with_name("shard_cases.py")
    return TensorFlowCases(program, CASES, {"HOME": str(folder)}, folder)


def names(*numbers: int) -> list[str]:
    return [f"shard-{number:05}-of-00004.tfrecord" for number in numbers]


def test_shards_lie_in_the_folder_that_was_asked_for(found):
    assert found["write"]["path"] == "data/shards"
    assert found["write"]["files"] == [".writing", *names(0, 1, 2, 3), "shards.json"]
    assert found["relative"] == "shards"


def test_every_image_is_in_one_record_with_its_name_and_its_class(found):
    written = found["write"]

    assert written["n_records"] == 40
    assert written["bytes_are_right"]
    assert written["classes"] == ["cat", "dog"]
    assert written["labels"] == {
        f"{name}/{number:02}.jpg": label
        for label, name in enumerate(("cat", "dog"))
        for number in range(20 * label, 20 * label + 20)
    }


def test_shards_differ_by_one_image_at_most_and_each_has_all_classes(found):
    written = found["write"]

    assert sum(written["n_images"]) == 40
    assert set(written["n_images"]) <= {9, 10, 11}
    assert set(written["labels_of_first"]) == {0, 1}


def test_images_of_a_class_do_not_follow_one_another_in_a_shard(found):
    labels = found["write"]["labels_of_first"]

    assert labels != sorted(labels)


def test_files_are_read_in_another_order_each_time(found):
    for first, second in found["order"].values():
        assert sorted(first) == sorted(second)
        assert first != sorted(first)
        assert first != second


def test_a_file_that_is_no_jpeg_is_left_out_and_named(found):
    assert found["write"]["refused"] == ["cat/text.jpg"]


def test_sizes_and_checksums_are_those_of_the_files(found):
    written = found["write"]

    assert written["sizes_are_right"]
    assert written["sums_are_right"]
    assert written["opened"]
    assert written["verified"]


def test_the_last_line_says_that_all_is_done(found):
    assert found["write"]["last_line"].startswith("41 of 41 images, ")
    assert found["resume"]["last_line"].startswith("41 of 41 images, ")


def test_the_bar_moves_while_a_shard_is_written(found):
    assert found["bar"]["moved"]


def test_there_are_16_shards_or_as_many_as_their_size_asks_for_and_none_is_empty(found):
    assert found["numbers"] == {"small": 16, "few": 3, "one": 1, "large": 19}


def test_a_stopped_conversion_goes_on_with_the_shards_that_are_not_whole(found):
    assert found["resume"]["made"] == names(1, 2)
    assert found["resume"]["is_same"]


def test_a_shard_that_was_stopped_half_way_does_not_get_its_name(found):
    assert found["stop"]["stopped"] == []
    assert found["stop"]["again"] == found["stop"]["fresh"]


@pytest.mark.parametrize("change", ["name", "size", "class", "one less", "one more"])
def test_a_change_of_any_one_of_many_images_is_noticed(found, change):
    assert found["digest"][change] == []


def test_what_an_earlier_call_has_done_does_not_count_for_the_rate(found):
    assert found["resume"]["last_line_of_nothing"] == "41 of 41 images, 0 a second"


def test_a_folder_that_lacks_shards_says_how_to_get_them(found):
    assert found["incomplete"]["said"].endswith(
        " has 1 of 4 shards. Call write_shards again in the same way: it continues where it was."
    )
    assert found["incomplete"]["made"].startswith("40 images in 4 of 4 shards, ")


def test_damaged_and_missing_shards_are_named_with_what_to_do(found):
    assert found["verify"] == (
        f"{', '.join(names(1, 3))} in PLACE/shards is missing or damaged. Delete its remains "
        "and call write_shards again: it writes the missing shards."
    )


OTHERS = (
    "PLACE/shards holds 2 shards of other images, or of the same in another number of shards. "
    "Choose another folder, or delete that one."
)


@pytest.mark.parametrize(
    ("case", "text"),
    [
        ("no_shards", "PLACE/empty holds no shards. Make them with write_shards(images, target)."),
        ("other_number", OTHERS),
        ("other_images", OTHERS),
        (
            "other_writer",
            "Another process is writing shards into PLACE/locked. Wait for it, or choose another "
            "folder.",
        ),
        (
            "no_rights",
            "The shards cannot be written into /proc/shards: No such file or directory. "
            "Complete shards stay. Call it again in the same way to continue.",
        ),
    ],
)
def test_what_cannot_be_done_is_said_with_the_next_step(found, case, text):
    assert found["refuse"][case] == text


def test_a_folder_without_images_is_refused(found):
    assert "PLACE/empty has no files that end with .jpg" in found["refuse"]["no_images"]


def test_an_error_of_tensorflow_is_said_in_its_words(found):
    text = found["refuse"]["blocked"]

    assert text.startswith("The shards cannot be written into PLACE/blocked: PLACE/blocked/.shard-")
    assert "; Is a directory. Complete shards stay" in text
