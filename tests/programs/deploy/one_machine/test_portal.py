"""The portal's settings on one machine: written by deploy/up until somebody changes them."""

from pathlib import Path

import pytest

from deploy.one_machine import hubs, portal
from tests.unit.deploy.one_machine.clusters import REAL, SIMULATED


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file, once deploy/up has written it."""
    path = tmp_path / "portal.toml"
    monkeypatch.setattr(hubs, "PORTAL_TOML", path)
    monkeypatch.setattr(hubs, "HUB_STATE_DIR", tmp_path / "hub")
    monkeypatch.setattr(portal, "STATE_DIR", tmp_path / "state")
    monkeypatch.setattr(portal, "ACCOUNT", "root")
    portal.ensure_settings(SIMULATED)
    return path


def test_settings_that_nobody_changed_follow_the_machine(settings: Path) -> None:
    assert portal.ensure_settings(SIMULATED) == "unchanged"

    assert portal.ensure_settings(REAL) == f"written to {settings}"
    assert "simulated_gpus = false" in settings.read_text()


def test_settings_that_the_administrator_changed_are_kept(settings: Path) -> None:
    own = settings.read_text() + "[idle]\nafter_minutes = 60\n"
    settings.write_text(own)

    said = [portal.ensure_settings(cluster) for cluster in (SIMULATED, REAL)]

    assert settings.read_text() == own
    assert "yours, kept" in said[0]
    assert f"remove {settings}" in said[1]


def test_settings_that_were_taken_back_follow_the_machine_again(settings: Path) -> None:
    written = settings.read_text()
    settings.write_text("[site]\n")
    portal.ensure_settings(SIMULATED)
    settings.write_text(written)

    assert portal.ensure_settings(REAL) == f"written to {settings}"


def test_removed_settings_are_written_again(settings: Path) -> None:
    settings.write_text("[site]\n")
    settings.unlink()

    assert portal.ensure_settings(SIMULATED) == f"written to {settings}"
    assert portal.ensure_settings(SIMULATED) == "unchanged"
