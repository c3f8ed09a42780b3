"""Where sessions find the portal's command."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from portal.server.commands import VARIABLE, offer_commands, offer_modules, terminal_shell


def test_the_command_goes_before_others_of_its_name(tmp_path: Path) -> None:
    tmp_path.joinpath("commands").mkdir()
    environ = {"PATH": "/usr/bin:/bin"}

    offer_commands(environ, tmp_path)

    assert environ == {
        "PATH": f"{tmp_path}/commands:/usr/bin:/bin",
        VARIABLE: f"{tmp_path}/commands",
    }


def test_a_server_without_the_command_keeps_its_path(tmp_path: Path) -> None:
    environ = {"PATH": "/usr/bin:/bin"}
    offer_commands(environ, tmp_path)

    assert environ == {"PATH": "/usr/bin:/bin"}


@pytest.mark.parametrize("shell", ["/bin/bash", "/bin/sh"])
def test_a_login_that_sets_the_path_anew_does_not_lose_the_command(
    tmp_path: Path, shell: str
) -> None:
    tmp_path.joinpath(".profile").write_text(
        "PATH=/usr/bin:/bin; FROM_LOGIN=yes\nexport FROM_LOGIN\n"
    )
    environ = {"HOME": str(tmp_path), "PATH": f"/first:{os.defpath}", VARIABLE: "/the/commands"}
    argv = terminal_shell(shell)

    assert argv is not None
    typed = "echo $FROM_LOGIN $PATH\n"
    done = subprocess.run(
        argv, input=typed, env=environ, capture_output=True, text=True, check=True
    )

    assert done.stdout == "yes /the/commands:/usr/bin:/bin\n"


def test_a_bashrc_that_sets_the_path_does_not_lose_the_command_either(tmp_path: Path) -> None:
    tmp_path.joinpath(".bashrc").write_text("PATH=/usr/bin:/bin; echo from bashrc\n")
    environ = {"HOME": str(tmp_path), "PATH": os.defpath, VARIABLE: "/the/commands"}
    argv = terminal_shell("/bin/bash")

    assert argv is not None
    done = subprocess.run(
        [*argv, "-i"], input="echo $PATH\n", env=environ, capture_output=True, text=True, check=True
    )

    assert done.stdout.endswith("from bashrc\n/the/commands:/usr/bin:/bin\n")


def test_every_bash_of_a_session_has_module(tmp_path: Path) -> None:
    init = tmp_path / "the site's init"
    # As environment-modules and Lmod do: they export what the function needs.
    init.write_text(
        'module() { echo "module $*"; }; ml() { module "$@"; }; export -f module ml\n'
        "export MODULEPATH=/modules\n"
    )
    environ = {"PATH": os.defpath}
    offer_modules(environ, init)
    offer_modules(environ, None)
    script = 'module load a; module load "b c"; bash -c "ml d"; echo $MODULEPATH'
    argv = ["bash", "-c", script]
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == ["module load a", "module load b c", "module d", "/modules"]


def test_a_script_that_defines_no_module_is_read_once(tmp_path: Path) -> None:
    init = tmp_path / "init"
    init.write_text("echo read\n")
    environ = {"PATH": os.defpath}
    offer_modules(environ, init)
    argv = ["bash", "-c", "module avail"]
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, check=False)

    assert (done.stdout, done.returncode) == ("read\n", 127)


def test_a_shell_that_is_not_known_starts_as_it_always_does() -> None:
    assert terminal_shell("/usr/bin/fish") is None
    assert terminal_shell("") is None
