"""The digits that several notebooks read."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

MODULE = Path(__file__).parents[4] / "notebook_templates" / "shared" / "digits_data.py"


@pytest.fixture(scope="module")
def digits_data():
    import sys

    spec = importlib.util.spec_from_file_location("digits_data", MODULE)
    module = importlib.util.module_from_spec(spec)
    sys.modules["digits_data"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["digits_data"]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("mnist") / "mnist-10k.npz"
    chance = np.random.default_rng(0)
    labels = np.repeat(np.arange(10, dtype=np.uint8), 1000)
    images = chance.integers(0, 256, (10_000, 28, 28), dtype=np.uint8)
    images[:, 0, 0] = labels
    np.savez(path, x=images, y=labels)
    return path


@pytest.fixture(scope="module")
def digits(digits_data, path):
    return digits_data.load_digits(path)


def test_digits_are_divided_into_training_and_test_the_same_way_each_time(
    digits_data, path, digits
):
    again = digits_data.load_digits(path)

    assert digits.train_images.shape == (8000, 28, 28, 1)
    assert digits.test_images.shape == (2000, 28, 28, 1)
    assert (digits.train_images.dtype, digits.train_labels.dtype) == (np.float32, np.int32)
    assert 0 <= digits.train_images.min() < digits.train_images.max() <= 1
    assert np.array_equal(digits.test_images, again.test_images)


def test_labels_stay_with_their_images_and_both_parts_hold_all_digits(digits):
    assert np.array_equal(np.rint(digits.test_images[:, 0, 0, 0] * 255), digits.test_labels)
    assert set(digits.train_labels) == set(digits.test_labels) == set(range(10))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_every_rank_gets_another_part_of_the_same_size(digits, size):
    parts = [digits.share(rank, size) for rank in range(size)]

    assert {len(part.train_images) for part in parts} == {8000 // size}
    seen = {image.tobytes() for part in parts for image in part.train_images}
    assert len(seen) == 8000 // size * size


def test_a_quick_try_takes_fewer_training_images_and_all_test_images(digits):
    few = digits.first(300)

    assert np.array_equal(few.train_images, digits.train_images[:300])
    assert len(few.train_labels) == 300
    assert len(few.test_images) == 2000


def test_a_missing_file_says_how_to_put_it_there(digits_data, tmp_path):
    with pytest.raises(digits_data.DataError) as refusal:
        digits_data.load_digits(tmp_path / "none.npz")

    assert "none.npz" in str(refusal.value)
    assert "deploy/site/install" in str(refusal.value)
    assert "deploy/environments/build datasets" in str(refusal.value)


def test_digits_of_the_installation_serve_where_the_storage_has_none(
    digits_data, tmp_path, monkeypatch
):
    installed = tmp_path / "portal/datasets/mnist/mnist-10k.npz"
    on_storage = tmp_path / "home/isilon/datasets/mnist/mnist-10k.npz"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PORTAL_TEMPLATES_DIR", str(tmp_path / "portal/templates"))
    for path in (installed, on_storage):
        path.parent.mkdir(parents=True)

    assert digits_data.find_digits() == on_storage
    installed.touch()
    assert digits_data.find_digits() == installed
    on_storage.touch()
    assert digits_data.find_digits() == on_storage


def test_digits_are_where_the_site_keeps_its_data_sets(digits_data, monkeypatch):
    monkeypatch.setenv("PORTAL_DATASETS_DIR", "/scratch/data")

    assert str(digits_data.find_digits()) == "/scratch/data/mnist/mnist-10k.npz"


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 cut off"])
def test_a_file_that_is_no_numpy_archive_is_named(digits_data, tmp_path, content):
    path = tmp_path / "other.npz"
    path.write_bytes(content)

    with pytest.raises(digits_data.DataError, match=r"other\.npz cannot be read as digits"):
        digits_data.load_digits(path)


def test_a_file_with_other_images_is_named(digits_data, tmp_path):
    path = tmp_path / "small.npz"
    np.savez(path, x=np.zeros((100, 8, 8), np.uint8), y=np.zeros(100, np.uint8))

    with pytest.raises(digits_data.DataError, match="wanted are more than 8000 images"):
        digits_data.load_digits(path)
