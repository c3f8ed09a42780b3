"""Ranks of a kernel that is in a container image: in its session, and on two nodes."""

import os
import pwd
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.environments.builder.plan import Plan
from tests.lab.foreign.run_notebook import Session, run_cell
from tests.support.eventually import eventually
from tests.support.wheels import pack_wheel
from tests.templates.test_in_sessions import USER, portal_session  # noqa: F401

APPTAINER = Path("/opt/apptainer/bin/apptainer")
IMAGE = Path("/opt/data-scientist-portal/test-image")
BUILD = "python3 -m tests.targets apptainer image"
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.release,
    pytest.mark.skipif(not APPTAINER.exists(), reason=f"no {APPTAINER}; {BUILD} unpacks it"),
    pytest.mark.skipif(not IMAGE.exists(), reason=f"no {IMAGE}; {BUILD} makes it"),
]
NAME = "ranks-test"
LOOK = """
import os
from dsportal import report, run, runs

os.environ["OF_THE_CELL"] = "set"

def look(word):
    import os, sys
    report(step=1, steps=1)
    print("printed by rank", os.environ["RANK"])
    image = bool(os.environ.get("APPTAINER_CONTAINER"))
    node, login = os.environ["SLURMD_NODENAME"], "JUPYTERHUB_API_TOKEN" in os.environ
    return f"{word}: {node} {sys.executable} {image} {os.environ['OF_THE_CELL']} {login}"
"""
IN_THE_SESSION = "print(*run(look, 'here', gpus=1, results='all'), sep='\\n')"
ON_TWO_NODES = """
print(*sorted(run(look, "there", gpus=2, nodes=2, results="all")), sep="\\n")
print([one.state for one in runs()[:2]])
"""


@pytest.fixture
def kernel(portal_session: Session) -> Iterator[str]:  # noqa: F811
    """The kernel of an image that its user has added."""
    home = Path(pwd.getpwnam(USER).pw_dir)
    with tempfile.TemporaryDirectory(prefix="ranks-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        pack_wheel(Plan().environment("tensorflow"), "cloudpickle", folder)
        index = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": name}
        dsportal("environments", "add", NAME, "--image", f"oci:{IMAGE}", **index)
    eventually(
        lambda: f"own-{NAME}" in portal_session.ask("GET", "api/kernelspecs")["kernelspecs"],
        timeout_s=60,
    )
    yield f"own-{NAME}"
    dsportal("environments", "remove", NAME, "--yes")
    for folder in (home / "portal-runs").glob("*-look-*"):
        shutil.rmtree(folder)


def dsportal(*words: str, **environ: str) -> None:
    """Run the command as the user."""
    program = Plan().environment("server") / "commands/dsportal"
    home = pwd.getpwnam(USER).pw_dir
    done = subprocess.run(
        ["/usr/sbin/runuser", "-u", USER, "--", "env", f"HOME={home}", program, *words],
        cwd="/",
        env={"PATH": "/usr/bin:/bin", **environ},
        timeout=300,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


async def test_ranks_run_in_the_image_of_their_kernel_on_all_nodes(
    portal_session: Session,  # noqa: F811
    kernel: str,
) -> None:
    id_ = portal_session.ask("POST", "api/kernels", {"name": kernel})["id"]
    try:
        socket = await portal_session.connect(id_)
        shown = [await run_cell(socket, cell) for cell in (LOOK, IN_THE_SESSION, ON_TWO_NODES)]
        socket.close()
    finally:
        portal_session.ask("DELETE", f"api/kernels/{id_}")

    assert [error for _, error in shown] == ["", "", ""], shown
    assert "printed by rank 0" in shown[1][0]
    assert re.search(r"here: node0\d /usr/bin/python3 True set True", shown[1][0]), shown[1][0]
    for node in ("node01", "node02"):
        # A job of its own gets no login of the session.
        assert f"there: {node} /usr/bin/python3 True set False" in shown[2][0]
    assert "['done', 'done']" in shown[2][0]
