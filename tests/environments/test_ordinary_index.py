"""The flavour cpu from the ordinary index alone, as on a machine that nobody has prepared.

It downloads about 3.5 GB, since that index has PyTorch only with its CUDA libraries.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.environments.builder.environment import PINS_FILE, read_pins
from deploy.environments.builder.package_sources import SETTING
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.process import clean_environment
from tests.support.training_cells import TRAIN_PYTORCH, TRAIN_TENSORFLOW

TARGETS = ("server", "tensorflow", "pytorch", "kernels", "package")
BUILD_TIMEOUT_S = 3000
RUN_CELL = """
import sys, nbformat, nbclient
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(sys.argv[2])])
nbclient.NotebookClient(notebook, kernel_name=sys.argv[1], timeout=300).execute()
print("".join(output.get("text", "") for output in notebook.cells[0].outputs))
"""


@pytest.fixture(scope="module")
def plan() -> Iterator[Plan]:
    """Environments built where no setting of pip, uv or this project says where to look."""
    folder = Path(tempfile.mkdtemp(prefix="ordinary-index-", dir="/var/tmp"))
    plan = Plan(prefix=folder / "prefix", log_dir=folder / "log")
    # An empty cache: what another index gave is not at hand.
    environment = clean_environment(UV_CACHE_DIR=str(folder / "cache"), **{SETTING: ""})
    folders = ("--prefix", plan.prefix, "--logs", plan.log_dir, "--datasets", folder / "datasets")
    try:
        done = subprocess.run(
            [plan.recipes_dir / "build", "--flavour", "cpu", *folders, *TARGETS],
            env=environment,
            timeout=BUILD_TIMEOUT_S,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        print(done.stdout)
        yield plan
    finally:
        shutil.rmtree(folder)


def test_pytorch_brings_the_libraries_that_it_cannot_be_imported_without(plan: Plan) -> None:
    pins = read_pins(plan.environment("pytorch") / PINS_FILE)

    assert "+" not in pins["torch"]
    assert "nvidia-cudnn-cu13" in pins


@pytest.mark.parametrize(
    ("kernel", "cell"), [("tensorflow", TRAIN_TENSORFLOW), ("pytorch", TRAIN_PYTORCH)]
)
def test_each_kernel_trains(plan: Plan, kernel: str, cell: str) -> None:
    python = plan.environment("server") / "bin/python"

    done = subprocess.run(
        [python, "-c", RUN_CELL, kernel, cell],
        env=clean_environment(),
        timeout=400,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "falls True" in done.stdout, f"{done.stdout}\n{done.stderr}"
