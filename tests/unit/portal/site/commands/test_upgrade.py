"""Which links a change of version turns, and what stops it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from portal.hub.settings.loader import Settings
from portal.site.commands.upgrade import plan_switch, turn_links
from spawner.errors import SiteError


@pytest.fixture
def installed(tmp_path: Path, settings: Settings) -> Settings:
    """Return the settings of a site with the versions 1 and 2, the first in use."""
    for folder in ("here", "shared"):
        for version in ("1", "2"):
            (tmp_path / folder / version / "environments").mkdir(parents=True)
        (tmp_path / folder / "current").symlink_to("1")
    server = tmp_path / "shared/current/environments/server"
    return replace(settings, environments=replace(settings.environments, server=server))


def test_both_links_are_turned_and_back_again(installed: Settings, tmp_path: Path) -> None:
    links = [tmp_path / folder / "current" for folder in ("here", "shared")]

    turn_links(plan_switch(installed, "2", prefix=tmp_path / "here"))
    assert [os.readlink(link) for link in links] == ["2", "2"]

    turn_links(plan_switch(installed, "1", prefix=tmp_path / "here"))
    assert [os.readlink(link) for link in links] == ["1", "1"]


def test_a_version_that_the_nodes_lack_is_refused(installed: Settings, tmp_path: Path) -> None:
    (tmp_path / "shared/2/environments").rmdir()
    (tmp_path / "shared/2").rmdir()

    with pytest.raises(SiteError, match=r"shared has no version 2\. There are: 1\."):
        plan_switch(installed, "2", prefix=tmp_path / "here")


@pytest.mark.parametrize("version", ["../1", "", "3"])
def test_what_is_no_version_is_refused(installed: Settings, tmp_path: Path, version: str) -> None:
    with pytest.raises(SiteError):
        plan_switch(installed, version, prefix=tmp_path / "here")


def test_a_link_that_cannot_be_turned_leaves_all_as_they_were(
    installed: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch = plan_switch(installed, "2", prefix=tmp_path / "here")
    really_replace = os.replace

    def fail_on_shared(new: Path, link: Path) -> None:
        if "shared" in str(link):
            raise OSError(30, "Read-only file system", str(link))
        really_replace(new, link)

    monkeypatch.setattr("os.replace", fail_on_shared)

    with pytest.raises(SiteError, match="Read-only"):
        turn_links(switch)
    assert os.readlink(tmp_path / "here/current") == "1"
