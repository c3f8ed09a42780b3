"""What the server loads and runs before it serves."""

import subprocess
from pathlib import Path

from tests.support.notebook_server import NotebookServer
from tests.support.private_hub import ENVIRONMENTS

PYTHON = ENVIRONMENTS / "server" / "bin" / "python"
LOAD = """\
import sys
from spawner.node.patches.stand_ins import load_hub_code
load_hub_code()
from spawner.node.patches import lab_commands
lab_commands.run_no_node()
import jupyterhub.singleuser.extension, jupyterlab.labapp, portal.server.extension
from portal.server.features import find_plugins
list(find_plugins())
unneeded = {"alembic", "jupyterhub.handlers", "nbconvert", "papermill", "sqlalchemy"}
print(*sorted(unneeded & set(sys.modules)))
"""


def load(tmp_path: Path, code: str) -> str:
    """Run code as the server would, where a `node` is in the path; return what it printed."""
    (tmp_path / "node").write_text(f"#!/bin/sh\ntouch {tmp_path}/node-was-run\n")
    (tmp_path / "node").chmod(0o755)
    return subprocess.run(
        [PYTHON, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        timeout=180,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path)},
    ).stdout


def test_a_server_loads_nothing_of_the_hubs_and_of_exports_and_runs_no_node(
    tmp_path: Path,
) -> None:
    assert load(tmp_path, LOAD).split() == []
    assert not (tmp_path / "node-was-run").exists()


def test_what_was_left_out_is_there_for_who_asks_for_it_later(tmp_path: Path) -> None:
    code = LOAD + "import jupyterhub.orm, jupyterhub.handlers.pages as pages\n"
    code += "print(jupyterhub.orm.User.__tablename__, pages.HealthCheckHandler.__module__)"

    assert load(tmp_path, code).split() == ["users", "jupyterhub.handlers.pages"]


def test_the_first_request_to_the_hub_loads_its_client(tmp_path: Path) -> None:
    code = LOAD + (
        "import asyncio, jupyterhub.singleuser.extension as hub\n"
        "try: asyncio.run(hub.fetch('http://127.0.0.1:9/'))\n"
        "except OSError as error: print(type(error).__module__)\n"
    )

    assert load(tmp_path, code).split() == ["aiohttp.client_exceptions"]


def test_language_servers_are_looked_for_once_somebody_asks(tmp_path: Path) -> None:
    code = """
import asyncio, types
from jupyter_lsp import serverextension
from spawner.node.patches.language_servers import look_when_asked

async def find(server, folder):
    print(folder)

async def is_ready():
    return True

async def main():
    serverextension.initialize = find
    look_when_asked()
    manager = types.SimpleNamespace(ready=is_ready)
    serverextension.initialize(types.SimpleNamespace(language_server_manager=manager), "folder")
    await asyncio.sleep(0.1)
    print("start", flush=True)
    print(*await asyncio.gather(manager.ready(), manager.ready()))

asyncio.run(main())
"""

    assert load(tmp_path, code).split() == ["start", "folder", "True", "True"]


def test_a_session_names_no_program_and_no_version_to_browsers(
    notebook_server: NotebookServer,
) -> None:
    url = f"{notebook_server.host}/user/ada/api/status"
    through_the_proxy = {"X-Forwarded-For": "203.0.113.7"}

    answer = notebook_server.http.get(url, headers=through_the_proxy, timeout=30)

    assert answer.ok
    assert not {"Server", "X-JupyterHub-Version"} & set(answer.headers)
