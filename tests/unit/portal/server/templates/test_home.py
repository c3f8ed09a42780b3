"""The templates that a user finds at home when the session starts."""

import logging
from pathlib import Path

import pytest

from portal.server.templates.home import Home

LOG = logging.getLogger("test_home")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def test_a_session_finds_templates(
    home: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/start.ipynb").touch()

    Home(home, {"PORTAL_TEMPLATES_DIR": str(tmp_path / "site")}, tmp_path, LOG).prepare()

    assert [path.name for path in home.glob("[!.]*")] == ["templates"]
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_a_site_without_templates_gets_none(home: Path) -> None:
    Home(home, {}, home, LOG).prepare()

    assert list(home.iterdir()) == []
