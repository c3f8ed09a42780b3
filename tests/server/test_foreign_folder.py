"""A notebook in somebody else's folder: what lies beside it does not run by opening it."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.foreign_folder import Shared, start_server
from tests.support.notebook_server import NotebookServer

ENVIRONMENTS = Path("/opt/data-scientist-portal/environments")
KERNELS = ENVIRONMENTS / "server/share/jupyter"
JYTHON = Path("/usr/bin/jython")
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
PYTHON_KERNELS = ("python3", "tensorflow", "pytorch", "site-venv", "site-modules")


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
        "MODULESHOME": str(MODULES.parents[1]),
        "MODULEPATH": str(folder / "modules"),
        "PORTAL_SETTINGS": json.dumps({"environments": {"registry": str(registry)}}),
    }
    server = start_server(folder, tensorboard_python, KERNELS, **environ)
    yield server
    server.stop()


@pytest.fixture
def shared(server: NotebookServer, request: pytest.FixtureRequest) -> Shared:
    return Shared(server, re.sub(r"\W+", "-", request.node.name))


@pytest.mark.parametrize("kernel", PYTHON_KERNELS)
async def test_python_runs_nothing_of_the_folder_and_a_cell_imports_from_it(
    shared: Shared, kernel: str
) -> None:
    if kernel == "site-modules" and not os.access(MODULES, os.R_OK):
        pytest.skip(f"no {MODULES}; Debian has them")

    seen, imported = await shared.run(kernel, shared.look, "import localmod; localmod.value")

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
        pytest.skip(f"no {JYTHON}; Debian has it")
    look = f"import os; print(os.path.exists({str(shared.marks)!r}))"

    seen, imported = await shared.run("site-old", look, "import localmod; localmod.value")

    assert seen.strip() == "False"
    assert imported.strip() == "'beside'"
