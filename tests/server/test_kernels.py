"""Shipped kernels in a real notebook server: with and without the user's packages."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dsportal.packages.overlay import find_overlay, this_environment
from tests.support.eventually import eventually
from tests.support.kernels import offered, run_cell
from tests.support.notebook_server import NotebookServer

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
