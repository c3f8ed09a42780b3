"""Agents on a laptop: the server of the Model Context Protocol, on a real session."""

import json
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.sessions.test_laptop import NOTEBOOK, USER, laptop, said
from tests.support.agent import Agent
from tests.support.eventually import eventually
from tests.support.laptop import Laptop
from tests.support.portal_client import ADDRESS, PortalClient, sessions_of

pytestmark = pytest.mark.cluster
__all__ = ["laptop"]

CHANGES = ("start_session", "stop_session", "run_cell", "submit_job")
ALLOWED = [word for tool in CHANGES for word in ("--allow", tool)]
FOLDER = "agent-test"


@contextmanager
def served(laptop: Laptop, *options: str) -> Iterator[Agent]:
    argv = (sys.executable, str(laptop.archive), "mcp", *options)
    with laptop.running(*argv, errors=subprocess.DEVNULL) as program:
        assert program.stdin is not None
        assert program.stdout is not None

        def send(line: str) -> None:
            program.stdin.write(line)
            program.stdin.flush()

        agent = Agent(send, program.stdout.readline)
        agent.begin()
        yield agent
        program.stdin.close()
        assert program.wait(30) == 0
        program.stdin = None


def kernels() -> list[object]:
    client = PortalClient(USER)
    client.login()
    authorized = {"Authorization": f"token {client.token()}"}
    answer = client.http.get(f"{ADDRESS}/user/{USER}/api/kernels", headers=authorized)
    return list(answer.json())


def test_an_agent_starts_a_session_runs_code_and_a_job_and_stops_it(laptop: Laptop) -> None:
    with served(laptop, *ALLOWED) as agent:
        agent.call("start_session", gpus=0)
        eventually(lambda: "Your session runs" in agent.call("why"), timeout_s=60)
        assert "(no name) runs" in agent.call("list_sessions")

        assert agent.call("run_cell", code="x = 6 * 7; print(x)") == "42\n"
        assert agent.call("run_cell", code="x + 1") == "43\n"
        assert "ZeroDivisionError" in agent.call("run_cell", code="1 / 0")
        slow = agent.call("run_cell", code="import time; time.sleep(80)", timeout_s=1)
        assert "[interrupted after 1 s]" in slow
        assert "KeyboardInterrupt" in slow

        write = f"""import json, pathlib
folder = pathlib.Path.home() / {FOLDER!r}
folder.mkdir(exist_ok=True)
(folder / "train.ipynb").write_text(json.dumps({NOTEBOOK!r}))"""
        agent.call("run_cell", code=write)
        assert "train.ipynb (notebook)" in agent.call("read_file", path=FOLDER)
        assert json.loads(agent.call("read_file", path=f"{FOLDER}/train.ipynb")) == NOTEBOOK
        queued = agent.call(
            "submit_job", notebook=f"{FOLDER}/train.ipynb", hours=0.2, parameters={"lr": "0.5"}
        )
        assert "is queued as job" in queued
        eventually(lambda: "trained with 0.5" in agent.call("job_output"), timeout_s=90)
        assert "train" in agent.call("list_jobs")

        agent.call(
            "run_cell", code=f"import shutil; shutil.rmtree(pathlib.Path.home() / {FOLDER!r})"
        )
        agent.call("stop_session")
        assert sessions_of(USER) == []


def test_a_kernel_of_an_agent_ends_with_it(laptop: Laptop) -> None:
    said(laptop.portal("start", "--gpus", "0"))
    with served(laptop, "--allow", "run_cell") as agent:
        agent.call("run_cell", code="1")
        assert len(kernels()) == 1
        assert agent.ask("tools/call", name="stop_session")["error"]["code"] == -32602

    assert kernels() == []
    assert sessions_of(USER) != []


# Of others.
CLIENT = """
import asyncio, sys
from mcp import ClientSession, StdioServerParameters, stdio_client

async def main():
    server = StdioServerParameters(command=sys.executable, args=sys.argv[1:])
    async with stdio_client(server) as streams, ClientSession(*streams[:2]) as session:
        await session.initialize()
        print(sorted(tool.name for tool in (await session.list_tools()).tools))
        for tool, arguments in (("run_cell", {"code": "6 * 7"}), ("list_sessions", {})):
            answer = await session.call_tool(tool, arguments)
            print(answer.content[0].text)

asyncio.run(main())
"""


@pytest.mark.release
def test_a_client_of_others_finds_the_tools_and_runs_a_cell(laptop: Laptop, tmp_path: Path) -> None:
    venv.create(tmp_path / "client", with_pip=True)
    subprocess.run([tmp_path / "client/bin/pip", "install", "--quiet", "mcp"], check=True)
    said(laptop.portal("start", "--gpus", "0"))
    server = (str(laptop.archive), "mcp", "--allow", "run_cell")

    told = said(laptop.run(str(tmp_path / "client/bin/python"), "-c", CLIENT, *server))

    tools, *shown = told.splitlines()
    assert "'run_cell'" in tools
    assert "'stop_session'" not in tools
    assert "42" in shown
    assert "(no name) runs" in told


def test_an_agent_has_no_more_rights_than_its_token(laptop: Laptop, tmp_path: Path) -> None:
    client = PortalClient(USER)
    client.login()
    asked = {"expires_in": 3600, "scopes": ["read:users!user", "read:servers!user"]}
    made = client.rest("POST", f"/users/{USER}/tokens", client.token(), json=asked).json()
    done = laptop.portal("login", laptop.address, text=f"{made['token']}\n")
    assert done.returncode == 0, done.stderr

    with served(laptop, *ALLOWED) as agent:
        assert agent.call("list_sessions") == "No session runs or waits."
        agent.call("start_session", is_error=True, gpus=0)
    assert sessions_of(USER) == []
