"""A notebook in somebody else's folder: what lies beside it does not run by opening it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.eventually import eventually
from tests.support.kernels import offered, run_cells
from tests.support.notebook_server import CHECKOUT, NotebookServer

ENVIRONMENTS = Path("/opt/data-scientist-portal/environments")
KERNELS = ENVIRONMENTS / "server/share/jupyter"
JYTHON = Path("/usr/bin/jython")
R = "/usr/bin/R"
MODULES = Path("/usr/share/modules/init/bash")
REGISTRY = """
[conda]
name = "Conda"
conda = "{environment}"
[venv]
name = "Site Python"
virtualenv = "{environment}"
[modules]
name = "Module Python"
modules = ["testpython/1.0"]
[r]
name = "Site R"
language = "r"
interpreter = "/usr/bin/R"
[old]
name = "Python 2.7"
language = "python2"
interpreter = "/usr/bin/jython"
"""
# Kernels of which deploy/environments/build can install what this machine lacks.
NEEDED = {"mxnet": KERNELS / "kernels/mxnet", "site-modules": MODULES}
ABSENT = {kernel: path for kernel, path in NEEDED.items() if not path.exists()}
# What a kernel may import before there is a cell, or Python itself.
PLANTED = (
    *("ipykernel_launcher", "ipykernel", "traitlets", "sitecustomize", "usercustomize", "zmq"),
    *("comm", "matplotlib_inline", "psutil", "json", "ast", "debugpy", "tornado", "site"),
)
PYTHON_KERNELS = ("python3", "tensorflow", "pytorch", "mxnet", "site-venv", "site-modules")


class Shared:
    """A folder of somebody else's in which every file leaves a mark when it is run."""

    def __init__(self, server: NotebookServer, name: str) -> None:
        self.server = server
        self.name = name
        self.marks = server.root / f"marks-{name}"
        self.folder = server.root / name
        self.folder.mkdir()
        mark = f"open({str(self.marks)!r}, 'a').write(__name__ + ' ')\n"
        for module in PLANTED:
            (self.folder / f"{module}.py").write_text(mark)
        (self.folder / "localmod.py").write_text("value = 'beside'\n")
        (self.folder / ".Rprofile").write_text(self._r_mark)
        (self.folder / ".Renviron").write_text("PLANTED=yes\n")

    @property
    def _r_mark(self) -> str:
        return f"cat('R ', file = {str(self.marks)!r}, append = TRUE)\n"

    def plant_workspace(self) -> None:
        """Leave a saved workspace with a function that R calls when it starts."""
        code = f".First <- function() {self._r_mark.strip()}; save.image()"
        argv = [R, "--vanilla", "--slave", "-e", code]
        subprocess.run(argv, cwd=self.folder, check=True, timeout=60)

    async def run(self, kernel: str, *cells: str) -> list[str]:
        """Open a notebook of the folder with a kernel."""
        eventually(lambda: kernel in offered(self.server), timeout_s=60)
        return await run_cells(self.server, kernel, *cells, folder=self.name)


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, tensorboard_python: Path
) -> Iterator[NotebookServer]:
    folder = tmp_path_factory.mktemp("foreign")
    (folder / "modules/testpython").mkdir(parents=True)
    (folder / "modules/testpython/1.0").write_text(
        f"#%Module1.0\nprepend-path PATH {ENVIRONMENTS}/server/bin\n"
    )
    registry = folder / "environments.toml"
    registry.write_text(REGISTRY.format(environment=ENVIRONMENTS / "server"))
    environ = {
        "JUPYTER_NO_CONFIG": "1",
        "JUPYTER_PATH": str(KERNELS),
        "MODULESHOME": str(MODULES.parents[1]),
        "MODULEPATH": str(folder / "modules"),
        "PORTAL_SETTINGS": json.dumps({"environments_file": str(registry)}),
        # What the start file of many a shell makes of a variable that was empty before.
        "PYTHONPATH": f":{CHECKOUT}",
    }
    server = NotebookServer(folder, tensorboard_python, environ=environ)
    yield server
    server.stop()


@pytest.fixture
def shared(server: NotebookServer, request: pytest.FixtureRequest) -> Shared:
    return Shared(server, re.sub(r"\W+", "-", request.node.name))


@pytest.mark.parametrize("kernel", PYTHON_KERNELS)
async def test_python_runs_nothing_of_the_folder_and_a_cell_imports_from_it(
    shared: Shared, kernel: str
) -> None:
    if kernel in ABSENT:
        pytest.skip(f"no {ABSENT[kernel]} for {kernel}")
    look = f"import os; print(os.path.exists({str(shared.marks)!r}), os.getcwd())"

    seen, imported = await shared.run(kernel, look, "import localmod; localmod.value")

    assert seen.split() == ["False", str(shared.folder)]
    assert imported == "'beside'"


@pytest.mark.parametrize("kernel", ["ir", "site-r"])
async def test_r_runs_nothing_of_the_folder(shared: Shared, kernel: str) -> None:
    shared.plant_workspace()
    look = f"cat(file.exists({str(shared.marks)!r}), Sys.getenv('PLANTED'), exists('.First'))"

    (seen,) = await shared.run(kernel, look)

    assert seen.split() == ["FALSE", "FALSE"]


async def test_r_reads_the_users_own_files(shared: Shared) -> None:
    profile, variables = shared.server.root / ".Rprofile", shared.server.root / ".Renviron"
    profile.write_text("own <- 'profile'\n")
    variables.write_text("OWN=variables\n")

    (seen,) = await shared.run("ir", "cat(own, Sys.getenv('OWN'))")

    profile.unlink()
    variables.unlink()
    assert seen.split() == ["profile", "variables"]


async def test_python_2_runs_nothing_of_the_folder_and_a_cell_imports_from_it(
    shared: Shared,
) -> None:
    if not os.access(JYTHON, os.X_OK):
        pytest.skip(f"no {JYTHON}; deploy/environments/build jython installs it")
    look = f"import os; print(os.path.exists({str(shared.marks)!r}))"

    seen, imported = await shared.run("site-old", look, "import localmod; localmod.value")

    assert seen.strip() == "False"
    assert imported.strip() == "'beside'"
