"""The command `dsportal` where users type it: a terminal, a cell, and a job."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tornado.websocket import websocket_connect

from tests.support.kernels import ask, run_cell
from tests.support.notebook_server import TOKEN, NotebookServer
from tests.support.websockets import close_websocket

SERVER = Path("/opt/data-scientist-portal/environments/server")


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, tensorboard_python: Path
) -> Iterator[NotebookServer]:
    """A server with the shipped kernels, whose users have bash."""
    server = NotebookServer(
        tmp_path_factory.mktemp("commands"),
        tensorboard_python,
        argv=(str(SERVER / "bin/python"), "-m", "jupyter_server"),
        extensions=("portal.server", "jupyter_server_terminals"),
        environ={"JUPYTER_NO_CONFIG": "1", "SHELL": "/bin/bash"},
    )
    yield server
    server.stop()


async def said_in_terminal(server: NotebookServer, typed: str) -> str:
    """Type a line into a new terminal, and return all that it shows until the line has ended."""
    name = ask(server, "POST", "api/terminals")["name"]
    address = f"ws{server.host[4:]}/user/ada/terminals/websocket/{name}?token={TOKEN}"
    socket = await websocket_connect(address, connect_timeout=60)
    # The answer alone, and not what is typed, holds the two words together.
    await socket.write_message(json.dumps(["stdin", f"{typed}; echo the' 'end\r"]))
    said = ""
    while "the end" not in said:
        message = await socket.read_message()
        assert message is not None, said
        kind, *rest = json.loads(message)
        said += rest[0] if kind == "stdout" else ""
    await close_websocket(socket)
    ask(server, "DELETE", f"api/terminals/{name}")
    return said


async def test_a_terminal_finds_the_command(server: NotebookServer) -> None:
    said = await said_in_terminal(server, "type -P dsportal; dsportal version")

    assert f"{SERVER}/commands/dsportal" in said
    assert "Data Scientist Portal" in said


async def test_a_newcomer_finds_python_and_is_told_of_the_other_kernels(
    server: NotebookServer,
) -> None:
    said = await said_in_terminal(
        server, """python -c 'import os, pandas; print("of", os.environ["PORTAL_KERNEL"])'"""
    )

    assert "of python3" in said
    assert "source dsportal-activate pytorch" in said


async def test_pip_in_a_terminal_is_that_of_a_kernel(server: NotebookServer) -> None:
    said = await said_in_terminal(server, "pip --version")

    assert f"from {SERVER}/lib" in said
    assert "dsportal packages pip pytorch --version" in said


@pytest.mark.parametrize(("name", "step"), [("conda", "pip install"), ("nvidia-smi", "GPUs")])
async def test_what_a_node_does_not_have_is_said_with_a_next_step(
    server: NotebookServer, name: str, step: str
) -> None:
    said = await said_in_terminal(server, name)

    assert step in said
    assert "command not found" not in said
    assert "nosuchprogram: command not found" in await said_in_terminal(server, "nosuchprogram")


def test_a_program_of_the_users_own_comes_first(tmp_path: Path) -> None:
    for name in ("python", "jupyter"):
        own = tmp_path / name
        own.write_text("#!/bin/sh\necho own\n")
        own.chmod(0o755)
        path = f"{SERVER}/commands:/usr/bin:/bin:{tmp_path}"
        done = subprocess.run(
            [SERVER / "commands" / name], env={"PATH": path}, capture_output=True, check=True
        )
        assert done.stdout == b"own\n"


@pytest.mark.parametrize("kernel", ["python3", "tensorflow"])
async def test_a_cell_has_jupyter_and_pip_for_the_user(server: NotebookServer, kernel: str) -> None:
    said = await run_cell(
        server,
        kernel,
        "!jupyter server list; jupyter nbconvert --version; pandoc --version | head -1\n"
        "!pip install --user --no-index pip",
    )

    assert f"{server.host}/user/ada/" in said
    assert "pandoc" in said
    assert "command not found" not in said
    assert "--user is left out" in said


@pytest.mark.parametrize("kernel", ["python3", "tensorflow"])
async def test_a_cell_finds_the_command_of_the_session(server: NotebookServer, kernel: str) -> None:
    said = await run_cell(server, kernel, "!dsportal packages list; which dsportal")

    assert "You have installed no packages." in said
    assert said.split()[-1] == f"{SERVER}/commands/dsportal"


@pytest.mark.parametrize("kernel", ["python3", "tensorflow", "pytorch"])
def test_a_shell_gets_the_python_of_a_kernel(tmp_path: Path, kernel: str) -> None:
    script = (
        f"source dsportal-activate {kernel} || exit 1\n"
        "python -c 'import os, dsportal, sys; print(sys.prefix, os.environ[sys.argv[1]])'"
        " PORTAL_ENVIRONMENT\npip --version\ntype -P dsportal"
    )
    done = subprocess.run(
        ["bash", "-c", script],
        env={"PATH": f"{SERVER}/commands:/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    interpreter, pip, command = done.stdout.splitlines()
    shipped = SERVER if kernel == "python3" else SERVER.parent / kernel

    assert interpreter.startswith(
        f"{tmp_path}/.local/share/data-scientist-portal/packages/{kernel}-"
    )
    assert interpreter.endswith(f" {shipped}")
    assert str(shipped) in pip
    assert command == f"{SERVER}/commands/dsportal"


def test_the_command_of_a_session_has_what_users_do_and_no_more(server: NotebookServer) -> None:
    program = [SERVER / "commands/dsportal", "--help"]
    said = subprocess.run(program, check=True, capture_output=True, text=True).stdout

    commands = set(re.findall(r"^    (\w+)", said, re.M))
    assert {"environments", "packages", "job"} <= commands
    assert not {"config", "drain", "backup", "sessions"} & commands
    assert "Administrators have more commands on the portal's head node." in said


async def test_a_cell_has_module_where_the_node_has_it(server: NotebookServer) -> None:
    said = await run_cell(server, "python3", "!module load null && module list")

    assert "null" in said
