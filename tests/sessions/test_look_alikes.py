"""Packages of others that are called as ours are, installed into each kernel of a real session."""

import pwd
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.foreign.run_notebook import Session, run_cell
from tests.support.wheels import make_wheel
from tests.templates.test_in_sessions import USER, portal_session  # noqa: F401

pytestmark = pytest.mark.cluster

DSPORTAL = "/opt/data-scientist-portal/environments/server/commands/dsportal"
NAMES = ("portal", "spawner", "data-scientist-portal")
# A module, so that nothing below the name of ours is found.
MODULE = "MARK = 'of somebody else'\n"
RUN = """
import portal, spawner
from dsportal import run
print("SEEN", portal.MARK, "and", spawner.MARK)
print("RAN", run(lambda: 6 * 7, gpus=1))
"""


@pytest.fixture
def wheels() -> Iterator[Path]:
    # In the home, which the node sees.
    with tempfile.TemporaryDirectory(prefix="portal-test-", dir=pwd.getpwnam(USER).pw_dir) as place:
        folder = Path(place)
        folder.chmod(0o755)
        for name in NAMES:
            make_wheel(folder, name.replace("-", "_"), "9.0", MODULE)
        yield folder


@pytest.fixture(params=["python3", "tensorflow", "pytorch"])
def kernel(request: pytest.FixtureRequest) -> Iterator[str]:
    def reset() -> None:
        words = ["/usr/sbin/runuser", "-u", USER, "--", DSPORTAL, "packages", "reset"]
        subprocess.run([*words, request.param], cwd="/", check=False, capture_output=True)

    reset()
    yield request.param
    reset()


async def run_in_new(session: Session, kernel: str, code: str) -> str:
    """Start a kernel, run one cell in it, and return what it printed."""
    started = session.ask("POST", "api/kernels", {"name": kernel})["id"]
    socket = await session.connect(started)
    try:
        text, error = await run_cell(socket, code)
    finally:
        socket.close()
        session.ask("DELETE", f"api/kernels/{started}")
    assert error == "", text
    return text


async def test_a_kernel_needs_no_package_that_others_have_the_name_of(
    portal_session: Session,  # noqa: F811
    kernel: str,
    wheels: Path,
) -> None:
    install = f"%pip install --no-index --find-links {wheels} --upgrade"

    first = await run_in_new(portal_session, kernel, f"{install} {' '.join(NAMES)}")
    assert "Successfully installed data-scientist-portal-9.0 portal-9.0 spawner-9.0" in first
    second = await run_in_new(portal_session, kernel, RUN)
    third = await run_in_new(portal_session, kernel, "%pip uninstall --yes portal spawner")

    # No word of a kernel that runs without the user's packages.
    assert second.startswith("SEEN of somebody else and of somebody else\n")
    assert "RAN 42" in second
    assert "Successfully uninstalled portal-9.0" in third
