"""Moves of users by the command line."""

from pathlib import Path

import pytest

from portal.cli import main
from portal.hub.hubs.placement import Hubs, Place
from portal.site.commands import users
from tests.support.portal_toml import MINIMAL


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the settings of one of two hubs whose state belongs to whoever runs this test."""
    monkeypatch.setattr(users, "become_hub_account", lambda _: "root")
    path = tmp_path / "portal.toml"
    below = MINIMAL.replace("[hub]\n", '[hub]\nbase_url = "/a/"\n')
    path.write_text(f'{below}[hubs]\npaths = ["/a/", "/b/"]\nfolder = "{tmp_path}"\n')
    return path


def test_a_user_is_moved_and_an_unknown_hub_is_refused(
    settings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hubs = Hubs("/a/", ("/a/", "/b/"), settings.parent)
    (other,) = {"/a/", "/b/"} - {hubs.place("ada").hub}

    assert main(["users", "move", "ada", "/c/", "--yes", "--settings", str(settings)]) == 1
    assert "/a/, /b/" in capsys.readouterr().err
    assert main(["users", "move", "ada", other, "--dry-run", "--settings", str(settings)]) == 0
    assert not hubs.place("ada").then

    assert main(["users", "move", "ada", other, "--yes", "--settings", str(settings)]) == 0
    assert hubs.place("ada").then == other
    assert main(["users", "move", "ada", other, "--now", "--yes", "--settings", str(settings)]) == 0
    assert hubs.place("ada") == Place(other)
