"""Which folders MLflow shows."""

import logging
import os
from pathlib import Path

import pytest

from dsportal.slurm.errors import OptionsError
from portal.server.viewers.folder import resolve_folder
from portal.server.viewers.mlflow.pages import MLFLOW, MlflowPages
from portal.settings.mlflow import MlflowSettings


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "logged/0").mkdir(parents=True)
    (tmp_path / "logged/0/meta.yaml").touch()
    (tmp_path / "photos").mkdir()
    return tmp_path


@pytest.fixture
def pages(home: Path) -> MlflowPages:
    return MlflowPages(
        MLFLOW,
        python="",
        limits=MlflowSettings(),
        root_dir=str(home),
        base_url="/",
        shared_dirs=(),
        private_dir=Path("/"),
        log=logging.getLogger("test"),
    )


async def test_a_folder_without_runs_is_refused_before_anything_is_written_there(
    home: Path, pages: MlflowPages
) -> None:
    with pytest.raises(OptionsError, match=r"“photos”, which holds no runs. Choose the folder"):
        await pages.open(["photos"])

    assert not any((home / "photos").iterdir())


@pytest.mark.parametrize("name", ["logged", "mlruns"])
def test_runs_are_shown_and_the_folder_that_kernels_log_to_also_before_the_first(
    home: Path, pages: MlflowPages, name: str
) -> None:
    (home / "mlruns").mkdir()

    logdir = resolve_folder(name, root=home, viewer=MLFLOW)

    assert pages.check(logdir) == logdir


async def test_several_folders_are_refused_with_what_to_do(pages: MlflowPages) -> None:
    with pytest.raises(OptionsError, match="2 folders, but a page shows one"):
        await pages.open(["logged", "mlruns"])


async def test_the_whole_home_is_refused_in_words_of_mlflow(pages: MlflowPages) -> None:
    with pytest.raises(OptionsError, match=r"MLflow was asked for all your files.* with the runs"):
        await pages.open([""])


@pytest.mark.parametrize(("made", "missing"), [((), ".trash and models"), ((".trash",), "models")])
def test_runs_in_a_folder_of_others_are_refused_unless_mlflow_has_its_folders_there(
    home: Path,
    pages: MlflowPages,
    monkeypatch: pytest.MonkeyPatch,
    made: tuple[str, ...],
    missing: str,
) -> None:
    # For root every folder is writable.
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK)
    for name in made:
        (home / "logged" / name).mkdir()
    logdir = resolve_folder("logged", root=home, viewer=MLFLOW)

    with pytest.raises(OptionsError, match=f"may not write. It makes {missing} there"):
        pages.check(logdir)

    for name in (".trash", "models"):
        (home / "logged" / name).mkdir(exist_ok=True)
    assert pages.check(logdir) == logdir
