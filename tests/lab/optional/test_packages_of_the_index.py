"""Packages of the index, installed in a cell, and what ranks on two nodes make of them.

Packages come from the ordinary index, or from what DSPORTAL_PACKAGES names. They are installed on
this host, as the nodes of one machine reach no index, into the home that both have.
"""

import os
import shlex
import subprocess

import pytest

from deploy.environments.builder.package_sources import package_sources
from deploy.environments.builder.plan import Plan
from deploy.environments.builder.process import SYSTEM_PATH
from tests.support.cells import RUN_CELL
from tests.templates.conftest import SlurmSession

pytestmark = pytest.mark.cluster

PYTHON = Plan().environment("server") / "bin/python"
INSTALL_TIMEOUT_S = 900
WITH_LIGHTNING = """
import einops, lightning, torch
from dsportal import run

class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(6, 1)

    def forward(self, images):
        return self.layer(einops.rearrange(images, "n a b -> n (a b)"))

    def training_step(self, batch, number):
        return self(batch[0]).square().mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

def train():
    import os
    from lightning.fabric.plugins.environments import LightningEnvironment
    images = torch.utils.data.TensorDataset(torch.ones(4, 2, 3))
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    # The ranks are already there, each with its own part of the work.
    parts = {"accelerator": "cpu", "devices": 1, "plugins": [LightningEnvironment()]}
    trainer = lightning.Trainer(max_epochs=1, **parts, **quiet)
    net = Net()
    trainer.fit(net, torch.utils.data.DataLoader(images, batch_size=2))
    return f"{trainer.global_step} steps on {os.environ['SLURMD_NODENAME']}"

print(*sorted(run(train, gpus=2, nodes=2, results="all")), sep="\\n")
"""
WITH_EINOPS = """
import einops, numpy
from dsportal import run

def look():
    import os
    shape = einops.rearrange(numpy.zeros((1, 2)), "a b -> b a").shape
    return f"{shape[0]} steps on {os.environ['SLURMD_NODENAME']}"

print(*sorted(run(look, gpus=2, nodes=2, results="all")), sep="\\n")
"""


@pytest.mark.parametrize(
    ("kernel", "packages", "cell"),
    [("pytorch", "einops lightning", WITH_LIGHTNING), ("tensorflow", "einops", WITH_EINOPS)],
    ids=["pytorch", "tensorflow"],
)
def test_ranks_on_two_nodes_train_with_packages_that_a_cell_installed(
    session: SlurmSession, kernel: str, packages: str, cell: str
) -> None:
    installed = install_in_a_cell(session, kernel, packages)
    assert "Successfully installed" in installed, installed
    program = session.programs_dir / "run_cell.py"
    program.write_text(RUN_CELL)

    job = session.submit(shlex.join([str(PYTHON), str(program), kernel, cell]))
    printed = session.output_of(job)

    assert "2 steps on node01" in printed, printed
    assert "2 steps on node02" in printed, printed


def install_in_a_cell(session: SlurmSession, kernel: str, packages: str) -> str:
    """Run `%pip install` in a kernel on this host, in the session's home; return what it showed."""
    # Without PIP_CONFIG_FILE: the kernel's own pip.conf keeps what is shipped at its version.
    index = {
        name: value
        for name, value in package_sources(os.environ).variables().items()
        if name.startswith("PIP_") and name != "PIP_CONFIG_FILE"
    }
    environ = {"PATH": SYSTEM_PATH, "SHELL": "/bin/sh", **index}
    done = subprocess.run(
        [
            *("/usr/sbin/runuser", "-u", session.user, "--", "env", f"HOME={session.working_dir}"),
            *(str(PYTHON), "-c", RUN_CELL),
            *(kernel, f"%pip install {packages}"),
        ],
        cwd=session.working_dir,
        env=environ,
        timeout=INSTALL_TIMEOUT_S,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout
