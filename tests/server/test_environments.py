"""Kernels of environments in a real notebook server: started, and a cell run in each."""

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from portal.environments.command import Node
from portal.environments.entry import parse_entry
from portal.environments.probe import try_environment
from portal.environments.registry import OWN_PATH
from tests.support.eventually import eventually
from tests.support.kernels import ask, offered, run_cell, run_until
from tests.support.notebook_server import NotebookServer, descendants
from tests.support.tensorboard_contract import listening_inodes, sockets_of

SERVER_ENVIRONMENT = Path("/opt/data-scientist-portal/environments/server")
MODULE = f"""#%Module1.0
prepend-path PATH {SERVER_ENVIRONMENT}/bin
setenv FROM_THE_MODULE loaded
"""
INITS = {
    "environment-modules": Path("/usr/share/modules/init/bash"),
    "lmod": Path("/usr/share/lmod/lmod/init/bash"),
}
FORK = """
import os
pid = os.fork()
if pid == 0:
    print("from a child", flush=True)
    os._exit(0)
_ = os.waitpid(pid, 0)
"""
THREAD = """
import threading
thread = threading.Thread(target=print, args=("from a child",))
thread.start()
thread.join()
"""
POOL = """
import multiprocessing
with multiprocessing.get_context("fork").Pool(1) as pool:
    pool.map(print, ["from a child"])
"""
REGISTRY = """
[venv]
name = "Site Python"
virtualenv = "{environment}"
variables = {{ FROM_THE_REGISTRY = "yes" }}
[modules]
name = "Module Python"
modules = ["testpython/1.0"]
[missing]
name = "No such module"
modules = ["nothing/9"]
[r]
name = "Site R"
language = "r"
interpreter = "/usr/bin/R"
"""


@pytest.fixture(scope="module", params=INITS)
def server(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    tensorboard_python: Path,
) -> Iterator[NotebookServer]:
    init = INITS[request.param]
    if not init.exists():
        pytest.skip(f"{init} is not there; python3 -m tests.targets lmod makes it")
    folder = tmp_path_factory.mktemp("environments")
    (folder / "modules/testpython").mkdir(parents=True)
    (folder / "modules/testpython/1.0").write_text(MODULE)
    registry = folder / "environments.toml"
    registry.write_text(REGISTRY.format(environment=SERVER_ENVIRONMENT))
    environ = {
        "JUPYTER_NO_CONFIG": "1",
        "MODULESHOME": str(init.parents[1]),
        "MODULEPATH": str(folder / "modules"),
        "PORTAL_SETTINGS": json.dumps({"environments": {"registry": str(registry)}}),
        "CUDA_VISIBLE_DEVICES": "0,2",
    }
    server = NotebookServer(folder, tensorboard_python, environ=environ)
    eventually(lambda: "site-missing" not in offered(server), timeout_s=60)
    yield server
    server.stop()


def test_what_works_is_offered_and_the_rest_says_why(server: NotebookServer) -> None:
    listed = ask(server, "POST", "portal/api/environments")["environments"]
    problems = {entry["name"]: entry["problem"] for entry in listed}

    kernels = offered(server)
    assert kernels["site-venv"] == "Site Python"
    assert kernels["site-modules"] == "Module Python"
    assert "site-missing" not in kernels
    assert problems["Module Python"] == ""
    assert "module load nothing/9 failed" in problems["No such module"]


@pytest.mark.parametrize(
    ("kernel", "code", "printed"),
    [
        ("site-venv", "import os; print(os.environ['FROM_THE_REGISTRY'])", "yes"),
        ("site-modules", "import os; print(os.environ['FROM_THE_MODULE'])", "loaded"),
        ("site-modules", "import os; print(os.environ['CUDA_VISIBLE_DEVICES'])", "0,2"),
    ],
)
async def test_a_cell_runs_in_the_environment(
    server: NotebookServer, kernel: str, code: str, printed: str
) -> None:
    assert (await run_cell(server, kernel, code)).strip() == printed


async def test_a_cell_runs_in_r(server: NotebookServer) -> None:
    if not os.access("/usr/bin/R", os.X_OK):
        pytest.skip("R is not installed; deploy/environments/build kernels does it")

    assert "42" in await run_cell(server, "site-r", "cat(6 * 7)")


def test_what_r_has_is_known(server: NotebookServer) -> None:
    if not os.access("/usr/bin/R", os.X_OK):
        pytest.skip("R is not installed; deploy/environments/build kernels does it")
    environment = parse_entry("r", {"language": "r", "interpreter": "/usr/bin/R"}, where="here")

    assert {"IRkernel", "stats"} <= set(try_environment(environment, Node()).packages or ())


async def test_ones_own_environment_appears_while_the_session_runs(
    server: NotebookServer,
) -> None:
    own = server.root / OWN_PATH
    own.parent.mkdir(parents=True)
    own.write_text(f'[mine]\nname = "Mine"\nvirtualenv = "{SERVER_ENVIRONMENT}"\n')

    eventually(lambda: offered(server).get("own-mine") == "Mine", timeout_s=30)
    assert "1" in await run_cell(server, "own-mine", "print(1)")

    own.unlink()
    eventually(lambda: "own-mine" not in offered(server), timeout_s=30)


async def test_nobody_else_on_the_node_hears_or_writes_to_a_kernel(server: NotebookServer) -> None:
    kernel = ask(server, "POST", "api/kernels", json={"name": "site-venv"})["id"]
    folders = (server.tmp_dir, Path(tempfile.gettempdir()))

    def sockets() -> list[Path]:
        pattern = f"dsportal-*/**/kernel-{kernel}-ipc-*"
        return [path for folder in folders for path in folder.glob(pattern) if path.is_socket()]

    eventually(lambda: len(sockets()) >= 6, timeout_s=30)
    # Only the notebook server itself listens on TCP. Kernels of other tests may be ending.
    pid = server.process.pid
    eventually(lambda: not sockets_of(descendants(pid)) & listening_inodes(), timeout_s=30)
    folder_mode = sockets()[0].parent.stat().st_mode & 0o777
    ask(server, "DELETE", f"api/kernels/{kernel}")

    assert folder_mode == 0o700


@pytest.mark.parametrize("cell", [FORK, THREAD, POOL])
async def test_what_children_and_threads_print_is_shown(server: NotebookServer, cell: str) -> None:
    # A child's words may come after the cell has ended.
    await run_until(server, "site-venv", cell, "from a child")
