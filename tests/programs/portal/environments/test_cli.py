"""What `dsportal environments add PATH` finds at a path."""

import sys
from pathlib import Path

import pytest

from portal.environments.registry import OWN_PATH, read_tables
from tests.support.environments import environments


def test_an_environment_is_added_by_its_path_alone(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert environments("new", "mine", "--like", "pytorch", "--folder", home / "project") == 0
    assert environments("remove", "mine", "--yes") == 0
    conda = home / "conda/My Env"
    (conda / "conda-meta").mkdir(parents=True)
    (conda / "bin").mkdir()
    (conda / "bin/python3").symlink_to(sys.executable)

    assert environments("add", conda, "--untried") == 0
    assert environments("add", home / "absent") == 1
    assert environments("add", "word") == 1

    assert read_tables(home / OWN_PATH) == {"my-env": {"conda": str(conda)}}
    said = capfd.readouterr().err
    assert f"{home}/absent is neither a virtual or conda environment nor an image" in said
    assert "Say where 'word' is: dsportal environments add PATH" in said


def test_a_path_that_nothing_can_be_asked_of_is_absent(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A closed folder on the way answers as a name does that is too long, also to root."""
    unasked = home / ("x" * 300)
    assert environments("add", unasked) == 1
    assert "is neither a virtual or conda environment nor an image" in capfd.readouterr().err

    (home / OWN_PATH).parent.mkdir(parents=True, exist_ok=True)
    (home / OWN_PATH).write_text(f'[far]\nvirtualenv = "{unasked}"\n')

    assert environments("list") == 0
    assert "far" in capfd.readouterr().out
    assert environments("remove", "far", "--yes") == 0
