"""`dsportal` in an environment that its user made, which has nothing of the portal."""

import os
import pwd
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.kernels import offered, run_cells
from tests.support.linked_environment import link_environment
from tests.support.portal_client import UserSession

pytestmark = pytest.mark.cluster

USER = "ada"
PYTORCH = Path("/opt/data-scientist-portal/environments/pytorch")
# What `pip install` of both would bring.
PACKAGES = ("ipykernel", "cloudpickle", "torch")
# Packages of the user's own, beside the notebook and in the environment.
OWN_PACKAGE = "NAME = 'my own'\n"
IMPORT = """
import sys, portal, spawner
from dsportal import checkpoint, report, run, tensorboard
print(portal.NAME, spawner.NAME, sys.prefix)
print([name for name in sys.modules if name.startswith(("portal.", "spawner."))])
"""
TRAIN = """
def train(start):
    import torch
    import torch.distributed as dist
    from dsportal import report

    dist.init_process_group("gloo")
    report(step=1)
    total = torch.tensor([start + dist.get_rank()])
    dist.all_reduce(total)
    dist.destroy_process_group()
    return total.item()

print("SUM", run(train, 10, gpus=2))
"""
IN_A_CHILD = "!{sys.executable} -c 'import dsportal; print(\"CHILD\", dsportal.__version__)'"


@pytest.fixture(scope="module")
def project() -> Iterator[Path]:
    """A folder of ada's with an environment, whose kernel she has added as ipykernel's guide says.

    Beside her notebooks there is a package `portal`, and in the environment one `spawner`.
    """
    account = pwd.getpwnam(USER)
    folder = Path(account.pw_dir) / f"project-{secrets.token_hex(4)}"
    kernel = Path(account.pw_dir) / ".local/share/jupyter/kernels" / folder.name
    folder.mkdir()
    python = link_environment(folder / "venv", PYTORCH, *PACKAGES)
    (folder / "portal.py").write_text(OWN_PACKAGE)
    (site,) = folder.glob("venv/lib/python3*/site-packages")
    (site / "spawner.py").write_text(OWN_PACKAGE)
    subprocess.run(["chown", "-R", "--no-dereference", USER, folder], check=True)
    words = ["-m", "ipykernel", "install", "--user", f"--name={folder.name}"]
    subprocess.run(
        [python, *words],
        env={"HOME": account.pw_dir, "PATH": os.defpath},
        user=account.pw_uid,
        group=account.pw_gid,
        cwd=folder,
        capture_output=True,
        check=True,
    )
    yield folder
    shutil.rmtree(folder)
    shutil.rmtree(kernel)


async def test_run_trains_on_all_gpus_in_a_kernel_that_has_nothing_of_the_portal(
    project: Path,
) -> None:
    session = UserSession(USER)
    session.client.stop(session.token)
    session.client.start(session.token, gpus=2)
    try:
        assert project.name in offered(session)
        imported, trained, child = await run_cells(
            session, project.name, IMPORT, TRAIN, IN_A_CHILD, folder=project.name
        )
    finally:
        session.client.stop(session.token)

    assert imported == f"my own my own {project}/venv\n[]\n"
    assert "2 ranks on " in trained
    assert "SUM 21\n" in trained
    assert child.startswith("CHILD ")
