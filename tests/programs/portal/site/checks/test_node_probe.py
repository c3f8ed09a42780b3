"""What the program of the trial job finds on a node, in folders made here."""

import os
import platform
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

from portal.hub.settings.loader import Settings
from portal.server.ssh import sshd
from portal.site.checks import node_probe
from portal.site.checks.node_probe import lacking_python, probe_environment, probe_workplace
from portal.site.checks.test_job import node_probe_input


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the home, too."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(node_probe, "LEAST_FREE_MIB", 0)
    return tmp_path


def look(site: Path, settings: Settings, **changes: object) -> dict[str, Any]:
    """Return the faults by their first word, and "free_mib"."""
    question = node_probe_input(settings, port=0, secret="") | {
        "environments": {"server": str(site / "server")},
        "storage": {str(site): False},
        "needs_sshd": False,
    }
    found: dict[str, Any] = {"free_mib": {}}
    rows = list(probe_workplace(question | changes, found))
    return found | {row[0]: row[1:] for row in rows}


def test_a_node_in_order_has_its_space_measured(site: Path, settings: Settings) -> None:
    found = look(site, settings)

    assert found.pop("free_mib")[str(site)] > 0
    assert found == {}


def test_little_space_is_told_in_numbers(
    site: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_probe, "LEAST_FREE_MIB", 10**9)

    folder, said = look(site, settings)["space"]

    assert folder == str(site)
    assert said.endswith(" MiB free, less than 1000000000")


def test_an_extension_that_lets_neighbours_in_is_named(site: Path, settings: Settings) -> None:
    package = site / "server/lib/python3.12/site-packages/jupyter_server_mcp"
    package.mkdir(parents=True)

    assert look(site, settings)["mcp"] == (str(package),)


def test_sshd_is_looked_for_where_a_session_does_if_one_needs_it(
    site: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert node_probe.SSHD_FOLDERS == sshd.SBIN
    monkeypatch.setattr(node_probe, "SSHD_FOLDERS", str(site))

    assert "sshd" in look(site, settings, needs_sshd=True)
    assert "sshd" not in look(site, settings)
    assert node_probe_input(settings, port=0, secret="")["needs_sshd"] is bool(settings.ssh.limit)


@pytest.mark.parametrize(
    ("python", "said"),
    [
        ("/no/python3.12", "Python 3.1 at /no/python3.12, which is not there"),
        (sys.executable, "Python 3.1, and {} there is {}"),
    ],
    ids=["none", "another"],
)
def test_a_node_whose_python_is_another_one_says_so(tmp_path: Path, python: str, said: str) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").symlink_to(python)
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.1.9\n")
    expected = said.format(os.path.realpath(python), platform.python_version())

    rows = list(probe_environment("server", str(tmp_path), "1"))

    assert rows == [("server python", str(tmp_path), expected)]


def test_an_environment_of_the_node_s_python_is_loaded(tmp_path: Path) -> None:
    venv.create(tmp_path / "env", symlinks=True)

    assert lacking_python(str(tmp_path / "env")) == ""
    ((name, _, said),) = probe_environment("tensorboard", str(tmp_path / "env"), "1")
    assert (name, "No module named" in said) == ("tensorboard", True)


def test_an_environment_of_another_version_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_probe, "PRINT_VERSION", "print('0.0.1') #{}")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").symlink_to(sys.executable)

    rows = list(probe_environment("server", str(tmp_path), "1"))

    assert rows == [("version", str(tmp_path), "0.0.1")]
    assert list(probe_environment("server", str(tmp_path), "0.0.1")) == []
