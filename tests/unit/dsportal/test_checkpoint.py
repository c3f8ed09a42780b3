from collections.abc import Callable
from pathlib import Path

import pytest

from dsportal import checkpoint
from dsportal.errors import LaunchError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "checkpoints"
    monkeypatch.setenv(checkpoint.CHECKPOINT_VARIABLE, str(folder))
    return folder


def save_file(path: Path, text: str) -> None:
    path.write_text(text)


def save_folder(path: Path, text: str) -> None:
    path.mkdir()
    path.joinpath("model.pt").write_text(text)


def save_half(save: Callable[[Path, str], None]) -> None:
    with checkpoint.writing("state.pt") as path:
        save(path, "half")
        raise MemoryError


def read(path: Path | None) -> str | None:
    if path is None:
        return None
    return (path / "model.pt" if path.is_dir() else path).read_text()


@pytest.fixture(params=[save_file, save_folder], ids=["file", "folder"])
def save(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    return request.param


def test_a_checkpoint_outside_of_a_run_gets_a_sentence(monkeypatch):
    monkeypatch.delenv(checkpoint.CHECKPOINT_VARIABLE)

    with pytest.raises(LaunchError, match="Checkpoints belong to a rank"):
        checkpoint.path("state.pt")


def test_there_is_no_latest_checkpoint_before_one_was_saved():
    assert checkpoint.latest("state.pt") is None


def test_the_newest_checkpoint_is_the_latest_and_keeps_its_name(save):
    for text in ("first", "second", "third"):
        with checkpoint.writing("state.pt") as path:
            assert path.name == "state.pt"
            save(path, text)
        found = checkpoint.latest("state.pt")
        assert (found.name, read(found)) == ("state.pt", text)


def test_the_one_before_is_kept_and_older_ones_are_not(save, folder):
    for text in ("first", "second", "third"):
        with checkpoint.writing("state.pt") as path:
            save(path, text)

    assert read(folder / "previous" / "state.pt") == "second"
    assert sorted(each.name for each in folder.iterdir()) == ["previous", "state.pt"]


@pytest.mark.parametrize("n_before", [0, 1, 2])
def test_a_checkpoint_whose_saving_failed_is_none(save, n_before):
    for number in range(n_before):
        with checkpoint.writing("state.pt") as path:
            save(path, f"whole {number}")
    with pytest.raises(MemoryError):
        save_half(save)

    assert read(checkpoint.latest("state.pt")) == (f"whole {n_before - 1}" if n_before else None)


def test_a_rank_killed_between_the_two_names_leaves_the_one_before(save, folder):
    with checkpoint.writing("state.pt") as path:
        save(path, "whole")
    (folder / "previous").mkdir(exist_ok=True)
    (folder / "state.pt").rename(folder / "previous" / "state.pt")

    with pytest.raises(MemoryError):
        save_half(save)
    assert read(checkpoint.latest("state.pt")) == "whole"


def test_a_saver_that_saves_elsewhere_gets_a_sentence():
    def save_elsewhere() -> None:
        with checkpoint.writing("state") as path:
            path.with_suffix(".npz").touch()

    with pytest.raises(LaunchError, match="Some savers add a suffix"):
        save_elsewhere()
    assert checkpoint.latest("state") is None
