"""What `dsportal packages` prints, over made-up kernels and the interpreter of this test."""

import json
import sys
from pathlib import Path

import pytest

from dsportal.packages.overlay import Overlay, find_overlay, this_environment
from portal.cli import user_main


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user whose portal ships two kernels that take packages, and one of R."""
    specs = {
        "tensorflow": {"packages_release": "2.21-py3.11", "debugger": True},
        "python3": {"packages_release": "3.11"},
        "ir": {},
    }
    for name, metadata in specs.items():
        folder = tmp_path / "environment/share/jupyter/kernels" / name
        folder.mkdir(parents=True)
        spec = {"argv": [sys.executable], "metadata": metadata}
        folder.joinpath("kernel.json").write_text(json.dumps(spec))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "environment"))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def install(overlay: Overlay, name: str, *, is_requested: bool = True) -> None:
    overlay.make(this_environment())
    (site,) = overlay.site_packages()
    info = site / f"{name}-1.0.dist-info"
    info.mkdir()
    info.joinpath("METADATA").write_text(f"Name: {name}\nVersion: 1.0\n")
    if is_requested:
        info.joinpath("REQUESTED").touch()


def test_who_installed_nothing_learns_how(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert user_main(["packages", "list"]) == 0
    assert "%pip install NAME" in capsys.readouterr().out


def test_packages_are_listed_by_kernel_with_those_of_older_releases(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(find_overlay(home, "tensorflow", "2.21-py3.11"), "einops")
    install(find_overlay(home, "tensorflow", "2.21-py3.11"), "needed", is_requested=False)
    install(find_overlay(home, "tensorflow", "2.20-py3.11"), "older")

    assert user_main(["packages", "list", "tensorflow"]) == 0
    said = capsys.readouterr().out

    assert "tensorflow-2.21-py3.11: " in said
    assert " MiB\n" in said
    assert "    einops 1.0\n" in said
    assert "    needed 1.0  (needed by another)\n" in said
    assert " MiB, of another release\n" in said


@pytest.mark.parametrize("name", ["ir", "tensorfow"])
def test_a_kernel_that_takes_no_packages_is_answered_with_those_that_do(
    home: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert user_main(["packages", "reset", name]) == 1
    assert "Choose: python3, tensorflow." in capsys.readouterr().err


def test_outside_of_a_session_the_error_says_where_to_go(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "prefix", str(home / "elsewhere"))

    assert user_main(["packages", "list"]) == 1
    assert "in a terminal of a session" in capsys.readouterr().err
