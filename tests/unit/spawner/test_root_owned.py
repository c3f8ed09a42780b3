"""Whether root alone can change a program."""

from pathlib import Path

import pytest

from spawner.root_owned import open_to_others


def make(folder: Path) -> Path:
    program = folder / "bin/program"
    program.parent.mkdir()
    program.touch(mode=0o755)
    return program


def test_a_program_of_the_system_is_roots_alone() -> None:
    assert open_to_others(Path("/usr/bin/env")) is None


@pytest.mark.parametrize("mode", [0o775, 0o757])
def test_a_folder_that_others_may_write_is_named(tmp_path: Path, mode: int) -> None:
    program = make(tmp_path)
    program.parent.chmod(mode)

    found = open_to_others(program)

    assert found in {program.parent, program}


def test_a_missing_program_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_to_others(tmp_path / "program")
