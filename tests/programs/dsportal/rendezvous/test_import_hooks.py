"""The guards, over modules that stand in for Horovod and Keras."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.checkout import PYTHONPATH


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    """A folder with a Horovod that sees one rank, and a Keras whose version a test sets."""
    files = {
        "keras.py": "__version__ = '3.15.1'\n",
        "horovod/__init__.py": "",
        "horovod/common/__init__.py": "",
        "horovod/common/basics.py": (
            "class HorovodBasics:\n"
            "    def init(self, comm=None):\n"
            "        self.started = comm\n"
            "    def size(self):\n"
            "        return 1\n"
        ),
        "horovod/tensorflow/__init__.py": "",
        "horovod/tensorflow/keras/__init__.py": (
            "def DistributedOptimizer(optimizer):\n"
            "    return optimizer\n"
            "def size():\n"
            "    return 1\n"
        ),
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def run(modules: Path, program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "from dsportal.rendezvous.import_hooks import install_guards\n" + program,
        ],
        env={"PYTHONPATH": f"{modules}:{PYTHONPATH}"},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )


STOCK = "import horovod.tensorflow.keras as hvd\nhvd.DistributedOptimizer(1)\nprint(hvd.size())\n"


def test_the_stock_optimizer_is_refused_under_keras_3(modules):
    done = run(modules, "install_guards(2)\n" + STOCK)

    assert "UnaveragedError" in done.stderr
    assert "import dsportal.horovod_keras as hvd" in done.stderr


def test_the_stock_optimizer_is_refused_when_it_was_imported_before(modules):
    done = run(modules, "import horovod.tensorflow.keras\ninstall_guards(2)\n" + STOCK)

    assert "UnaveragedError" in done.stderr


def test_the_stock_optimizer_stays_under_keras_2(modules):
    modules.joinpath("keras.py").write_text("__version__ = '2.15.0'\n")
    done = run(modules, "install_guards(2)\n" + STOCK)

    assert (done.returncode, done.stdout) == (0, "1\n")


def test_a_horovod_that_sees_one_rank_of_two_is_refused(modules):
    start = "from horovod.common.basics import HorovodBasics\nHorovodBasics().init(comm=[])\n"

    assert (
        "2 ranks were started and Horovod sees 1"
        in run(modules, "install_guards(2)\n" + start).stderr
    )
    assert run(modules, "install_guards(1)\n" + start).returncode == 0


def test_ranks_that_mpi_did_not_join_are_refused(modules):
    start = "from horovod.common.basics import HorovodBasics\nHorovodBasics().init()\n"
    said = run(modules, "install_guards(2, mpi=True)\n" + start).stderr

    assert "2 ranks were started and Horovod over MPI sees 1" in said
    assert "does not understand PMIx" in said


@pytest.mark.parametrize(
    ("rank", "simulated_gpus", "nccl", "n_said"),
    [(0, False, 0, 1), (1, False, 0, 0), (0, True, 0, 0), (0, False, 23203, 0)],
)
def test_a_horovod_without_nccl_is_named_once_where_ranks_have_gpus(
    modules, rank, simulated_gpus, nccl, n_said
):
    basics = modules / "horovod/common/basics.py"
    basics.write_text(
        basics.read_text().replace("return 1", "return 2")
        + f"    def nccl_built(self):\n        return {nccl}\n"
    )
    start = "from horovod.common.basics import HorovodBasics\n" + 2 * "HorovodBasics().init()\n"
    guards = f"install_guards(2, {rank}, simulated_gpus={simulated_gpus})\n"

    done = run(modules, guards + start)

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("averaged through host memory") == n_said
