"""MXNet, where its optional environment has been built: its notebook, and its ranks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.templates.conftest import ENVIRONMENTS
from tests.templates.notebooks import execute

PYTHON = ENVIRONMENTS / "mxnet" / "bin" / "python"
PROGRAM = Path(__file__).with_name("mxnet_cases.py")
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(
        not PYTHON.exists(),
        reason="MXNet is optional: deploy/environments/build mxnet package builds it",
    ),
]


@pytest.fixture(scope="module")
def digits(session):
    return execute(session, "mxnet/digits.ipynb")


@pytest.fixture(scope="module")
def found(session):
    return session.run_cases(PROGRAM, ["sockets", "two_nodes"], PYTHON)


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


def test_mxnet_over_nodes_is_refused_with_what_to_use_instead(found):
    text = found["two_nodes"].value["text"]

    assert "believes everybody who reaches it over the network" in text
    assert "PyTorch or Horovod" in text
