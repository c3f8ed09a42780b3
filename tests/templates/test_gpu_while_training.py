"""The template whose kernel has a GPU for one cell, in a session that has none."""

import re
from collections.abc import Iterator

import pytest

from tests.sessions.test_kernel_gpus import Session, kernel_jobs
from tests.support.eventually import eventually
from tests.templates.notebooks import execute_in

pytestmark = [pytest.mark.cluster, pytest.mark.release]


@pytest.fixture
def session() -> Iterator[Session]:
    one = Session()
    yield one
    one.client.stop(one.token)


async def test_only_the_cell_that_trains_has_a_gpu(session: Session) -> None:
    executed = await execute_in(session, "pytorch/gpu_while_training.ipynb")

    assert not [
        output for cell in executed.cells for output in cell.get("outputs", []) if "ename" in output
    ]
    (here,) = re.findall(r"This notebook runs in job (\d+) ", executed.text)
    (there,) = re.findall(r"Training in job (\d+) ", executed.text)
    assert here != there
    assert executed.figures["accuracy"] >= 0.96
    eventually(lambda: not kernel_jobs(), timeout_s=30)
