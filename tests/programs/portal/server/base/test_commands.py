"""Where sessions find the portal's command."""

import os
import pty
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from portal.server.base.commands import (
    MISSING,
    VARIABLE,
    offer_commands,
    offer_modules,
    replace_missing_shell,
    terminal_shell,
)


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


def type_in_terminal(typed: str, environ: Mapping[str, str]) -> str:
    """Return what a terminal shows in which these lines are typed, until its shell ends."""
    argv = terminal_shell(environ["SHELL"])
    assert argv is not None
    own, theirs = pty.openpty()
    process = subprocess.Popen(
        argv, env=environ, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    os.write(own, typed.encode())
    shown = b""
    try:
        while piece := os.read(own, 4096):
            shown += piece
    # So Linux tells the end of a terminal.
    except OSError:
        pass
    finally:
        os.close(own)
        process.wait(timeout=60)
    return shown.decode()


def test_a_shell_that_the_node_does_not_have_is_replaced_and_the_terminal_says_so(
    tmp_path: Path,
) -> None:
    environ = {"SHELL": "/usr/bin/no-such-fish", "HOME": str(tmp_path), "PATH": os.defpath}
    replace_missing_shell(environ)

    shown = type_in_terminal("echo it $((40 + 2)); exit\nexit\n", environ)

    assert environ["SHELL"] == shutil.which("bash")
    words = "Your login shell, /usr/bin/no-such-fish, is not on this node: this is bash."
    assert words in shown
    assert "it 42" in shown


def test_a_shell_that_the_node_has_stays() -> None:
    environ = {"SHELL": "/bin/sh"}
    replace_missing_shell(environ)

    assert environ == {"SHELL": "/bin/sh"}
    assert MISSING not in environ


@pytest.mark.parametrize("line", ["exec /bin/false", "exit", "set -e; false"])
@pytest.mark.parametrize("name", [".bashrc", ".bash_profile"])
def test_a_startup_file_that_ends_the_shell_leaves_one_that_does_not_read_it(
    tmp_path: Path, name: str, line: str
) -> None:
    tmp_path.joinpath(name).write_text(f"echo last words\n{line}\n")
    environ = {"SHELL": "/bin/bash", "HOME": str(tmp_path), "PATH": os.defpath}

    shown = type_in_terminal("echo it $((40 + 2)); exit\n", environ)

    assert "last words" in shown
    assert "A startup file of yours ended the shell" in shown
    assert "it 42" in shown


@pytest.mark.parametrize("shell", ["/bin/bash", "/bin/sh"])
def test_a_shell_that_its_user_ends_at_once_is_ended(tmp_path: Path, shell: str) -> None:
    tmp_path.joinpath(".bashrc").write_text("echo read\n")
    environ = {"SHELL": shell, "HOME": str(tmp_path), "PATH": os.defpath}

    shown = type_in_terminal("echo it $((40 + 2)); exit\n", environ)

    assert "it 42" in shown
    assert "ended the shell" not in shown
