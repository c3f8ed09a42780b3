from pathlib import Path

import pytest

from dsportal.errors import LaunchError
from dsportal.notebook import sweep
from dsportal.task.folder import RunFolder


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    folder.joinpath("mine.csv").touch()
    return folder


def test_a_link_in_place_of_a_point_is_refused_and_what_it_leads_to_stays(tmp_path, elsewhere):
    (tmp_path / "000").symlink_to(elsewhere)

    with pytest.raises(LaunchError, match="000 is a link"):
        sweep._make_point(RunFolder(tmp_path / "000"))
    assert [path.name for path in elsewhere.iterdir()] == ["mine.csv"]


def test_of_an_earlier_try_only_its_checkpoints_stay_and_of_a_link_what_it_leads_to(
    tmp_path, elsewhere
):
    point = RunFolder(tmp_path / "000")
    for folder in (point.checkpoints, point.path / "logs"):
        folder.mkdir(parents=True)
        folder.joinpath("written").touch()
    point.path.joinpath("end.json").touch()
    point.path.joinpath("data").symlink_to(elsewhere)

    sweep._make_point(point)

    assert [path.name for path in point.path.iterdir()] == ["checkpoints"]
    assert (point.checkpoints / "written").exists()
    assert (elsewhere / "mine.csv").exists()
