"""What the program of the trial job finds on a node, in folders made here."""

import json
import os
import platform
import shutil
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

from portal.hub.settings.loader import Settings
from portal.server.ssh import sshd
from portal.site.checks import node_probe
from portal.site.checks.node_probe import (
    lacking_kernels,
    lacking_python,
    probe_environment,
    probe_workplace,
)
from portal.site.checks.test_job import DATA, node_probe_input

CHECKOUT = Path(__file__).parents[5]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with templates, their data, and an environment that has one kernel."""
    (tmp_path / "server/bin").mkdir(parents=True)
    (tmp_path / "server/bin/python").symlink_to(sys.executable)
    spec = tmp_path / "server/share/jupyter/kernels/pytorch/kernel.json"
    spec.parent.mkdir(parents=True)
    spec.write_text(json.dumps({"argv": [str(tmp_path / "server/bin/python")]}))
    for name in ("pytorch", "tensorflow"):
        notebook = tmp_path / "templates" / name / "digits.ipynb"
        notebook.parent.mkdir(parents=True)
        notebook.write_text(json.dumps({"metadata": {"kernelspec": {"name": name}}}))
    data = tmp_path / DATA[0]
    data.parent.mkdir(parents=True)
    data.write_bytes(b"PK")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(node_probe, "LEAST_FREE_MIB", 0)
    return tmp_path


def look(site: Path, settings: Settings, **changes: object) -> dict[str, Any]:
    """Return the faults by their first word, and "free_mib"."""
    question = node_probe_input(settings, port=0, secret="") | {
        "environments": {"server": str(site / "server")},
        "templates": str(site / "templates"),
        "storage": {str(site): False},
        "data_folders": [str(site / "isilon/datasets"), str(site)],
        "needs_sshd": False,
    }
    found: dict[str, Any] = {"free_mib": {}}
    rows = list(probe_workplace(question | changes, found))
    return found | {row[0]: row[1:] for row in rows}


def test_the_program_finds_what_templates_need(site: Path, settings: Settings) -> None:
    found = look(site, settings)

    assert found.pop("free_mib")[str(site)] > 0
    assert found == {"lacking": ("tensorflow", "tensorflow/digits.ipynb")}


@pytest.mark.parametrize(("text", "said"), [(b"", "empty"), (None, "missing")])
def test_data_that_cannot_be_read_are_named(
    site: Path, settings: Settings, text: bytes | None, said: str
) -> None:
    if text is None:
        (site / DATA[0]).unlink()
    else:
        (site / DATA[0]).write_bytes(text)

    assert look(site, settings)["data"] == (DATA[0], said)


def test_of_many_templates_three_are_named(site: Path, settings: Settings) -> None:
    for name in "bcd":
        shutil.copy(site / "templates/tensorflow/digits.ipynb", site / f"templates/{name}.ipynb")

    said = "b.ipynb, c.ipynb, d.ipynb and 1 more"
    assert look(site, settings)["lacking"] == ("tensorflow", said)


def test_a_kernel_that_the_site_left_out_is_not_missed(site: Path, settings: Settings) -> None:
    assert "lacking" not in look(site, settings, left_out=["tensorflow"])


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


def test_a_login_shell_that_the_node_lacks_is_named(
    site: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = list(node_probe.pwd.getpwuid(os.getuid()))
    account[6] = "/bin/no-such-shell"
    struct = node_probe.pwd.struct_passwd(account)
    monkeypatch.setattr(node_probe.pwd, "getpwuid", lambda _: struct)

    assert look(site, settings)["shell"] == ("/bin/no-such-shell",)


def test_an_optional_template_misses_no_kernel(site: Path) -> None:
    notebook = site / "templates/tensorflow/digits.ipynb"
    metadata = {"kernelspec": {"name": "tensorflow"}, "portal": {"optional": True}}
    notebook.write_text(json.dumps({"metadata": metadata}))

    assert list(lacking_kernels(site / "templates", set())) == ["pytorch"]


def test_kernels_of_the_site_itself_may_run_the_templates(site: Path) -> None:
    templates = site / "templates"

    assert list(lacking_kernels(templates, {"ir"})) == ["pytorch", "tensorflow"]
    assert lacking_kernels(templates, {"ir", "site-deep"}) == {}


def test_the_data_are_those_that_the_templates_read() -> None:
    source = (CHECKOUT / "notebook_templates/shared/digits_data.py").read_text()

    assert [f'Path("{one}")'.replace("/", '", "') in source for one in DATA] == [True]


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
