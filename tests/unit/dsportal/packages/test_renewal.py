"""Packages for a new release of a kernel, with a shell that only remembers what it is told."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dsportal.packages import extension, renewal
from dsportal.packages.installed import Package
from dsportal.packages.overlay import Overlay, find_overlay, this_environment

PACKAGES = [
    Package(name="einops", version="0.8", is_requested=True),
    Package(name="mine", version="1", is_requested=True, url="https://example.org/mine.whl"),
]


class Shell:
    """What the extension uses of IPython's shell."""

    def __init__(self, exit_codes: list[int]) -> None:
        self.user_ns: dict[str, Any] = {}
        self.commands: list[str] = []
        self._exit_codes = exit_codes
        self._callbacks: list[Callable[..., None]] = []
        self.events = SimpleNamespace(
            register=lambda _, callback: self._callbacks.append(callback),
            unregister=lambda _, callback: self._callbacks.remove(callback),
        )

    def system(self, command: str) -> None:
        self.commands.append(command)
        code = self._exit_codes.pop(0)
        if code < 0:
            raise KeyboardInterrupt
        self.user_ns["_exit_code"] = code

    def run_cell(self) -> None:
        for callback in [*self._callbacks]:
            callback(None)


def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exit_codes: list[int]) -> Shell:
    """A kernel of the release 2.21 whose user has packages for 2.20."""
    older = find_overlay(tmp_path, "tensorflow", "2.20-py3.11")
    older.make(this_environment())
    info = older.site_packages()[0] / "einops-0.8.dist-info"
    info.mkdir()
    info.joinpath("METADATA").write_text("Name: einops\nVersion: 0.8\n")
    info.joinpath("REQUESTED").touch()
    present = find_overlay(tmp_path, "tensorflow", "2.21-py3.11")
    present.make(this_environment())
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(extension.RENEWAL, "tensorflow")
    monkeypatch.setattr("sys.prefix", str(present.folder))
    shell = Shell(exit_codes)
    extension.load_ipython_extension(shell)
    return shell


def test_versions_that_do_not_exist_any_more_are_replaced_by_the_newest() -> None:
    asked = []

    def install(requirements: Any) -> bool:
        asked.append(list(requirements))
        return len(asked) == 2

    said: list[str] = []

    assert renewal.install_again(PACKAGES, install, said.append)
    assert asked == [
        ["einops==0.8", "mine @ https://example.org/mine.whl"],
        ["einops", "mine @ https://example.org/mine.whl"],
    ]
    assert "trying the newest" in said[0]


def test_the_first_cell_of_a_new_release_installs_the_packages_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = start(tmp_path, monkeypatch, [0])

    shell.run_cell()
    shell.run_cell()

    pip = find_overlay(tmp_path, "tensorflow", "2.21-py3.11").pip
    assert shell.commands == [f"{pip} install --no-input einops==0.8"]
    said = capsys.readouterr().err
    assert "This is a new release of the kernel tensorflow. Installing your packages" in said
    assert "Your packages are installed for this release" in said


@pytest.mark.parametrize("exit_codes", [[1, 1], [-1]])
def test_packages_that_cannot_be_installed_and_an_interrupt_leave_the_way_back(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    exit_codes: list[int],
) -> None:
    start(tmp_path, monkeypatch, exit_codes).run_cell()

    assert "dsportal packages reinstall tensorflow" in capsys.readouterr().err
    assert Overlay(tmp_path / find_overlay(tmp_path, "tensorflow", "2.21-py3.11").folder).is_renewed
