"""What the first notebook says about the session."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import dsportal.amounts
import dsportal.launch.session
import dsportal.slurm.units

MODULE = Path(__file__).parents[4] / "notebook_templates" / "shared" / "my_session.py"
PAGE_BYTES = 4096


@pytest.fixture
def my_session(monkeypatch):
    # A kernel has these modules under the names of its library.
    for name, module in (
        ("dsportal.launch.session", dsportal.launch.session),
        ("dsportal.amounts", dsportal.amounts),
        ("dsportal.slurm.units", dsportal.slurm.units),
    ):
        monkeypatch.setitem(sys.modules, name, module)
    spec = importlib.util.spec_from_file_location("my_session", MODULE)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "my_session", module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("gib_of_node", "words"),
    [(512, "96 GB"), (96, "96 GB"), (23.5, "96 GB, 23.5 GB of it real")],
)
def test_memory_that_the_node_does_not_have_is_told_apart(
    my_session, monkeypatch, gib_of_node, words
):
    answer = "7:41:00                       cpu=16,mem=96G,node=1,billing=16\n"
    done = subprocess.CompletedProcess([], 0, stdout=answer, stderr="")
    values = {"SC_PHYS_PAGES": int(gib_of_node * 2**30) // PAGE_BYTES, "SC_PAGE_SIZE": PAGE_BYTES}
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    monkeypatch.setattr(os, "sysconf", values.__getitem__)
    session = dsportal.launch.session.read_session(
        {"SLURM_JOB_ID": "7", "SLURM_CPUS_ON_NODE": "16", "PORTAL_N_GPUS": "2"}
    )

    assert my_session.time_and_memory(session) == ("7 h 41 min", words)
