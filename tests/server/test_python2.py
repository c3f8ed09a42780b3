"""Python 2 as a kernel: Debian's Jython, driven by the portal's own kernel for it."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.eventually import eventually
from tests.support.kernels import ask, offered, run_cells
from tests.support.notebook_server import NotebookServer

JYTHON = Path("/usr/bin/jython")
REGISTRY = f"""
[old]
name = "Python 2.7"
language = "python2"
interpreter = "{JYTHON}"
[new]
name = "Not Python 2"
language = "python2"
interpreter = "/usr/bin/python3"
"""
pytestmark = pytest.mark.skipif(
    not os.access(JYTHON, os.X_OK),
    reason=f"no {JYTHON}; Debian has it",
)


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, tensorboard_python: Path
) -> Iterator[NotebookServer]:
    folder = tmp_path_factory.mktemp("python2")
    registry = folder / "environments.toml"
    registry.write_text(REGISTRY)
    environ = {
        "JUPYTER_NO_CONFIG": "1",
        "PORTAL_SETTINGS": json.dumps({"environments": {"registry": str(registry)}}),
    }
    server = NotebookServer(folder, tensorboard_python, environ=environ)
    # Files of a user do not take the place of packages.
    (server.root / "json.py").write_text("raise RuntimeError('not this one')\n")
    eventually(lambda: "site-new" not in offered(server), timeout_s=60)
    eventually(lambda: "site-old" in offered(server), timeout_s=60)
    yield server
    server.stop()


async def test_cells_of_python_2_print_have_values_and_fail(server: NotebookServer) -> None:
    told = "import os, sys; sys.stderr.write('told'); s = os.system('echo from a program')"
    printed, value, text, division, name, program = await run_cells(
        server,
        "site-old",
        "print 7 / 2, u'\u00e9'",
        "def f(n):\n    return n * 7\nf(6)",
        "print f(1)\n'text'",
        "1 / 0",
        "nothing.here",
        told,
    )

    assert printed == "3 \u00e9\n"
    assert value == "42"
    assert text == "7\n'text'", "what a cell has defined is there in the next"
    assert division == "integer division or modulo by zero"
    assert name == "name 'nothing' is not defined"
    assert "told" in program
    assert "from a program\n" in program


async def test_an_interpreter_that_ends_or_is_interrupted_is_started_again(
    server: NotebookServer,
) -> None:
    ended, _, interrupted, after = await run_cells(
        server,
        "site-old",
        "import os; os._exit(3)",
        "print 'again'",
        "import os, time; s = os.system('kill -INT 0'); time.sleep(60)",
        "print 'again'",
    )

    assert "ended with status 3. The next cell starts a new one." in ended
    assert "The next cell starts a new one." in interrupted
    assert after == "again\n"


def test_what_is_no_python_2_is_not_offered(server: NotebookServer) -> None:
    listed = ask(server, "POST", "portal/api/environments")["environments"]
    problems = {entry["name"]: entry["problem"] for entry in listed}

    assert problems["Python 2.7"] == ""
    assert "it needs Python 2" in problems["Not Python 2"]
