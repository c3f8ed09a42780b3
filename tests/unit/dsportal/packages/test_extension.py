"""The magic `%pip`, with a shell that only remembers what it is told."""

import os
from collections.abc import Callable

import pytest

from dsportal.packages import extension


class Shell:
    """What the extension uses of IPython's shell."""

    def __init__(self) -> None:
        self.magics: dict[str, Callable[[str], None]] = {}
        self.commands: list[str] = []

    def register_magic_function(
        self, function: Callable[[str], None], kind: str, name: str
    ) -> None:
        assert kind == "line"
        self.magics[name] = function

    def system(self, command: str) -> None:
        self.commands.append(command)


def test_it_runs_the_pip_of_the_users_packages(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(extension.PIP, "/home/a b/bin/pip")
    shell = Shell()

    extension.load_ipython_extension(shell)
    shell.magics["pip"]("install einops")

    assert shell.commands == ["'/home/a b/bin/pip' install einops"]
    assert "restart the kernel" in capsys.readouterr().out
    assert extension.PIP not in os.environ


def test_without_such_a_pip_ipythons_own_magic_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(extension.PIP, raising=False)
    shell = Shell()

    extension.load_ipython_extension(shell)

    assert shell.magics == {}
