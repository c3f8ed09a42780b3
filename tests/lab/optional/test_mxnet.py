"""MXNet in its optional environment: its notebook, its ranks, and its kernel."""

import re
from pathlib import Path

import pytest

from tests.support.foreign_folder import Shared, start_server
from tests.templates.notebooks import execute

PROGRAM = Path(__file__).with_name("mxnet_cases.py")
pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def digits(session, plan):
    return execute(session, "mxnet/digits.ipynb", plan.prefix / "environments")


@pytest.fixture(scope="module")
def found(session, plan):
    python = plan.environment("mxnet") / "bin/python"
    return session.run_cases(PROGRAM, ["sockets"], python)


@pytest.fixture
def shared(tmp_path, plan, tensorboard_python):
    kernels = plan.environment("server") / "share/jupyter"
    server = start_server(tmp_path, tensorboard_python, kernels)
    yield Shared(server, "shared")
    server.stop()


def test_the_mxnet_notebook_reads_at_least_95_of_100_test_digits(digits):
    assert digits.figures["accuracy"] >= 0.95


def test_the_ranks_of_mxnet_end_with_equal_weights(digits):
    rows = re.findall(r"^ +\d  +([0-9a-f]{16}) ", digits.text, re.MULTILINE)

    assert len(rows) == 2
    assert len(set(rows)) == 1


def test_the_ranks_of_mxnet_add_up_what_each_of_them_pushes(found):
    assert found["sockets"].value["sums"] == [3.0, 3.0]


def test_only_the_user_can_open_the_sockets_of_mxnet(found):
    assert len(found["sockets"].value["modes"]) >= 4
    assert set(found["sockets"].value["modes"]) == {"0o700"}


async def test_the_kernel_runs_nothing_of_a_folder_and_a_cell_imports_from_it(shared):
    seen, imported = await shared.run("mxnet", shared.look, "import localmod; localmod.value")

    assert seen.split() == ["False", str(shared.folder)]
    assert imported == "'beside'"
