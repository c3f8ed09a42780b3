"""Where sockets lie, and who can enter there."""

import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from portal.server.base.private_dir import make_private_dir

MakeDir = Callable[..., Path]


@pytest.fixture
def make() -> Iterator[MakeDir]:
    """Make private folders, given variables of the environment, and remove them afterwards."""
    made: list[Path] = []

    def make(**environ: Path | str) -> Path:
        made.append(make_private_dir({name: str(value) for name, value in environ.items()}))
        return made[-1]

    yield make
    for folder in made:
        shutil.rmtree(folder, ignore_errors=True)


def test_only_the_user_may_enter(make: MakeDir) -> None:
    folder = make(XDG_RUNTIME_DIR="")

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert folder.parent == Path("/tmp")


def test_the_users_run_time_folder_comes_first_and_then_the_jobs(make: MakeDir) -> None:
    run_time, job = make(), make()

    assert make(XDG_RUNTIME_DIR=run_time, SLURM_TMPDIR=job).parent == run_time
    assert make(XDG_RUNTIME_DIR=run_time / "gone", SLURM_TMPDIR=job).parent == job


def test_a_folder_where_others_may_rename_is_not_used(make: MakeDir) -> None:
    shared = make()
    shared.chmod(0o777)

    assert make(SLURM_TMPDIR=shared).parent == Path("/tmp")


def test_a_path_too_long_for_a_socket_is_not_used(make: MakeDir) -> None:
    deep = make() / ("x" * 60)
    deep.mkdir()

    assert make(SLURM_TMPDIR=deep).parent == Path("/tmp")
