"""MLflow's folder of runs, made by several ranks at once."""

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dsportal.rendezvous.mlflow_folder import make_folder_at_once


class FileStore:
    """What is used of MLflow's; tests/templates/test_mlflow_on_ranks.py has the real one."""

    def __init__(self, root: Path, looks: list[bool] | None = None) -> None:
        self.root_directory = str(root)
        self.root = root
        self.looks = looks

    def _create_default_experiment(self) -> None:
        Path(self.root_directory, "0").mkdir(parents=True)
        if self.looks is not None:
            # Another rank comes in between.
            self.looks.append(self.root.exists())
        Path(self.root_directory, "0/meta.yaml").write_text(str(id(self)))


@pytest.fixture
def store() -> type[FileStore]:
    module: Any = ModuleType("file_store")
    module.FileStore = type("FileStore", (FileStore,), {})
    make_folder_at_once(module)
    return module.FileStore  # type: ignore[no-any-return]


def test_nobody_sees_the_folder_before_its_first_experiment_is_complete(
    store: type[FileStore], tmp_path: Path
) -> None:
    looks: list[bool] = []

    store(tmp_path / "home/mlruns", looks)._create_default_experiment()

    assert looks == [False]
    assert (tmp_path / "home/mlruns/0/meta.yaml").exists()
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["mlruns"]


def test_the_second_rank_takes_the_folder_of_the_first(
    store: type[FileStore], tmp_path: Path
) -> None:
    first, second = store(tmp_path / "mlruns"), store(tmp_path / "mlruns")
    first._create_default_experiment()

    second._create_default_experiment()

    assert (tmp_path / "mlruns/0/meta.yaml").read_text() == str(id(first))
    assert second.root_directory == str(tmp_path / "mlruns")


def test_another_mlflow_is_left_alone() -> None:
    module: Any = ModuleType("file_store")
    module.FileStore = object

    make_folder_at_once(module)
