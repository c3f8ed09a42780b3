"""The portal as its user finds it, on another Debian: run there by test_debian.py."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.kernels import offered, run_cell
from tests.support.portal_client import ADDRESS, UserSession
from tests.support.training_cells import TRAIN_PYTORCH, TRAIN_TENSORFLOW

USER = "ada"
SEE_PYTHON = "import os, sys; print(sys.version_info[:2], os.environ['SLURM_JOB_ID'])"
CELLS = {
    "python3": (SEE_PYTHON, "(3, "),
    "tensorflow": (TRAIN_TENSORFLOW, "falls True"),
    "pytorch": (TRAIN_PYTORCH, "falls True"),
    "ir": ("cat(6 * 7)", "42"),
}


@pytest.fixture(scope="module")
def session() -> Iterator[UserSession]:
    session = UserSession(USER)
    session.client.start(session.token, gpus=1)
    yield session
    session.client.stop(session.token)


def test_the_launcher_offers_every_kernel(session: UserSession) -> None:
    assert set(offered(session)) == set(CELLS)


@pytest.mark.parametrize("kernel", CELLS)
async def test_a_notebook_computes_with_the_kernel(session: UserSession, kernel: str) -> None:
    code, expected = CELLS[kernel]

    assert expected in await run_cell(session, kernel, code)


@pytest.mark.parametrize("page", ["lab", "tree", "nbclassic/tree"])
def test_the_page_opens(session: UserSession, page: str) -> None:
    answer = session.http.get(f"{ADDRESS}/user/{USER}/{page}", timeout=60)

    assert answer.status_code == 200


def test_dsportal_check_finds_nothing_broken(session: UserSession) -> None:
    session.client.stop(session.token)
    program = Path("/opt/data-scientist-portal/environments/hub/bin/dsportal")
    argv = [program, "check", "--user", USER]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
