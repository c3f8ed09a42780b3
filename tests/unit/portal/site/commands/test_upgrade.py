"""Which links a change of version turns, what stops it, and how it goes back."""

import argparse
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from portal.hub.settings.loader import Settings
from portal.site.commands import upgrade
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

    with pytest.raises(SiteError, match=r"shared has no version 2\. Installed: 1\."):
        plan_switch(installed, "2", prefix=tmp_path / "here")


@pytest.mark.parametrize("version", ["../1", "", "3"])
def test_what_is_no_version_is_refused(installed: Settings, tmp_path: Path, version: str) -> None:
    with pytest.raises(SiteError):
        plan_switch(installed, version, prefix=tmp_path / "here")


@dataclass
class Commands:
    """Stands for systemctl and the portal's own commands; notes where the links are at each."""

    links: Sequence[Path]
    failing: Sequence[str] = ()
    said: list[tuple[str, str]] = field(default_factory=list)

    def run(self, argv: Sequence[str], **_: Any) -> subprocess.CompletedProcess[str]:
        words = " ".join(argv).partition("-m ")[2] or " ".join(argv)
        self.said.append((words, ",".join(os.readlink(link) for link in self.links)))
        status = int(any(words.startswith(one) for one in self.failing) and self.is_failing())
        return subprocess.CompletedProcess(argv, status, "/copy\n", "it said no")

    def is_failing(self) -> bool:
        return os.readlink(self.links[0]) == "2"


@pytest.fixture
def commands(installed: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Commands:
    """Return the commands of a switch from 1 to 2 on a host with systemd and a database."""
    state = tmp_path / "state"
    state.mkdir()
    hub = replace(installed.hub, state_dir=state, db_url="")
    hub.sqlite_path.touch()
    commands = Commands([tmp_path / folder / "current" for folder in ("here", "shared")])
    monkeypatch.setattr(upgrade, "load_settings", lambda _: replace(installed, hub=hub))
    monkeypatch.setattr(upgrade, "installed_prefix", lambda _: tmp_path / "here")
    monkeypatch.setattr(upgrade, "SYSTEMD", tmp_path)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("subprocess.run", commands.run)
    return commands


def switch_to_2() -> int:
    arguments = argparse.Namespace(
        settings=Path("/portal.toml"), version="2", database=None, yes=True, dry_run=False
    )
    return upgrade.run_switch(arguments)


STOP = "systemctl stop dsportal-hub"
RESTART = "systemctl try-restart dsportal-proxy"
START = "systemctl start dsportal-hub"
RESTORE = "portal.cli backup --settings /portal.toml --yes --restore /copy"


def test_a_switch_starts_proxy_and_hub_of_the_new_version(commands: Commands) -> None:
    assert switch_to_2() == 0

    assert commands.said[0] == (STOP, "1,1")
    assert commands.said[-2:] == [(RESTART, "2,2"), (START, "2,2")]


def test_a_link_that_cannot_be_turned_leaves_all_as_they_were(
    commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    really_replace = os.replace

    def fail_on_shared(new: Path, link: Path) -> None:
        if "shared" in str(link):
            raise OSError(30, "Read-only file system", str(link))
        really_replace(new, link)

    monkeypatch.setattr("os.replace", fail_on_shared)

    with pytest.raises(SiteError, match="Read-only"):
        switch_to_2()

    assert [os.readlink(link) for link in commands.links] == ["1", "1"]


@pytest.mark.parametrize("failing", [RESTART, START])
def test_a_failed_restart_goes_back_to_links_and_database_of_before(
    commands: Commands, failing: str
) -> None:
    commands.failing = [failing]

    with pytest.raises(SiteError, match="it said no"):
        switch_to_2()

    assert [os.readlink(link) for link in commands.links] == ["1", "1"]
    assert commands.said[-3:] == [(RESTORE, "1,1"), (RESTART, "1,1"), (START, "1,1")]


def test_a_database_that_cannot_be_upgraded_leaves_the_proxy_alone(
    commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands.failing = ["jupyterhub upgrade-db"]
    monkeypatch.setattr(commands, "is_failing", lambda: True)

    with pytest.raises(SiteError, match="it said no"):
        switch_to_2()

    assert RESTART not in dict(commands.said)
    assert commands.said[-2:] == [(RESTORE, "1,1"), (START, "1,1")]


def test_a_way_back_that_fails_too_is_told_with_the_first_fault(
    commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands.failing = [RESTART]
    monkeypatch.setattr(commands, "is_failing", lambda: True)

    with pytest.raises(SiteError, match="Going back failed too") as raised:
        switch_to_2()

    assert str(raised.value).count("it said no") == 2
    assert commands.said[-1] == (START, "1,1")
    assert [os.readlink(link) for link in commands.links] == ["1", "1"]
