"""Shipped kernels in a real notebook server: without the user's packages, and after a crash."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from dsportal.packages.overlay import find_overlay, this_environment
from tests.support.eventually import eventually
from tests.support.kernels import ask, offered, run_cell
from tests.support.notebook_server import NotebookServer, descendants

SERVER = Path("/opt/data-scientist-portal/environments/server")
FIND = "from importlib.util import find_spec; print(find_spec('tinypackage') is not None)"


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, tensorboard_python: Path
) -> Iterator[NotebookServer]:
    server = NotebookServer(
        tmp_path_factory.mktemp("kernels"),
        tensorboard_python,
        argv=(str(SERVER / "bin/python"), "-m", "jupyter_server"),
        environ={"JUPYTER_NO_CONFIG": "1"},
    )
    yield server
    server.stop()


async def test_the_menu_has_the_kernel_without_the_users_packages(server: NotebookServer) -> None:
    spec = json.loads((SERVER / "share/jupyter/kernels/python3/kernel.json").read_text())
    overlay = find_overlay(server.root, "python3", spec["metadata"]["packages_release"])
    assert "python3-without-packages" not in offered(server)
    overlay.make(this_environment())
    (site,) = overlay.site_packages()
    site.joinpath("tinypackage.py").touch()

    eventually(lambda: "python3-without-packages" in offered(server), timeout_s=60)

    assert offered(server)["python3-without-packages"] == "Python 3 (without your packages)"
    assert (await run_cell(server, "python3-without-packages", FIND)).split() == ["False"]
    assert (await run_cell(server, "python3", FIND)).split() == ["True"]


def test_a_kernel_that_crashes_is_told_with_its_notebook_and_its_signal(
    server: NotebookServer,
) -> None:
    wanted = {"path": "digits.ipynb", "type": "notebook", "kernel": {"name": "python3"}}
    session = ask(server, "POST", "api/sessions", json=wanted)
    connection_file = f"kernel-{session['kernel']['id']}.json".encode()

    def kernels() -> list[int]:
        pids = descendants(server.process.pid)
        return [pid for pid in pids if connection_file in command_line(pid)]

    def is_shut_down() -> bool:
        # Jupyter answers 500 as long as it restarts the kernel.
        url = f"{server.host}/user/ada/api/sessions/{session['id']}"
        return server.http.delete(url, timeout=60).status_code in {204, 404}

    os.kill(eventually(kernels, timeout_s=60)[0], signal.SIGSEGV)

    (said,) = eventually(lambda: ask(server, "GET", "portal/api/session")["notices"], timeout_s=60)
    eventually(is_shut_down, timeout_s=60)
    assert said.startswith("The kernel of digits.ipynb crashed in compiled code")
    assert "(SIGSEGV). It has been restarted" in said


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
