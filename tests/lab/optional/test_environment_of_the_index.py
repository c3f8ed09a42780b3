"""An environment with another Python than the portal's, and what ranks on two nodes make of it.

It is made from the ordinary index, or from what DSPORTAL_PACKAGES names, on this host, as the nodes
of one machine reach no index. uv takes a Python of this machine, or downloads one.
"""

import os
import pwd
import subprocess
from collections.abc import Iterator

import pytest

from deploy.environments.builder.package_sources import package_sources
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.process import SYSTEM_PATH
from tests.lab.foreign.run_notebook import Session, run_notebook
from tests.support.eventually import eventually
from tests.templates.test_in_sessions import USER

pytestmark = pytest.mark.cluster

SERVER = Plan().environment("server")
NAME = "index-test"
VERSIONS = ("3.12", "3.13")
MAKE_TIMEOUT_S = 900
NOTEBOOK = "index-test.ipynb"
CELL = """
from dsportal import run

def look():
    import os, sys, einops, numpy
    shape = einops.rearrange(numpy.zeros((1, 2)), "a b -> b a").shape
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return f"Python {version} on {os.environ['SLURMD_NODENAME']}: {shape[0]}"

print(*sorted(run(look, gpus=2, nodes=2, results="all")), sep="\\n")
import os
print("kernel", os.environ["PORTAL_KERNEL"])
"""


def dsportal(*words: str) -> str:
    """Run the command as the user, in the home that all nodes have; return what it printed."""
    # Without PIP_CONFIG_FILE: the user's own and the site's count, too.
    sources = package_sources(os.environ).variables().items()
    index = {k: v for k, v in sources if k.startswith("PIP_") and k != "PIP_CONFIG_FILE"}
    home = pwd.getpwnam(USER).pw_dir
    done = subprocess.run(
        [
            *("/usr/sbin/runuser", "-u", USER, "--", "env", f"HOME={home}"),
            *(str(SERVER / "commands/dsportal"), *words),
        ],
        cwd="/",
        env={"PATH": SYSTEM_PATH, **index},
        timeout=MAKE_TIMEOUT_S,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture
def version() -> Iterator[str]:
    """The Python of an environment that is made, and removed afterwards."""
    own = next(iter(SERVER.glob("lib/python3*"))).name.removeprefix("python")
    version = next(one for one in VERSIONS if one != own)
    packages = ("einops", "numpy", "cloudpickle")
    made = dsportal("environments", "new", NAME, f"--python={version}", *packages)
    assert f"{NAME}: works on this machine." in made
    yield version
    dsportal("environments", "remove", NAME, "--yes")


async def test_ranks_on_two_nodes_run_in_an_environment_with_another_python(
    version: str, portal_session: Session
) -> None:
    kernel = f"own-{NAME}"
    eventually(
        lambda: kernel in portal_session.ask("GET", "api/kernelspecs")["kernelspecs"], timeout_s=60
    )
    cell = {"cell_type": "code", "source": CELL, "metadata": {}, "outputs": []}
    content = {"cells": [cell | {"execution_count": None}], "metadata": {}}
    body = {"type": "notebook", "content": content | {"nbformat": 4, "nbformat_minor": 5}}
    portal_session.ask("PUT", f"api/contents/{NOTEBOOK}", body)
    try:
        done = await run_notebook(portal_session, NOTEBOOK, kernel)
    finally:
        portal_session.ask("DELETE", f"api/contents/{NOTEBOOK}")

    assert done["error"] == "", done
    for node in ("node01", "node02"):
        assert f"Python {version} on {node}: 2" in done["text"], done["text"]
    assert f"kernel {NAME}" in done["text"]
