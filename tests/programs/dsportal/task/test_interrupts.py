"""A job that a cell waits for, when its kernel is interrupted and when it ends. A real kernel."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from jupyter_client import BlockingKernelClient, KernelManager

from tests.programs.dsportal.conftest import StandInSession
from tests.support.eventually import eventually, throughout

WAITS = {
    "run": "run(train, gpus=1, hours=0.1)",
    "sweep": "sweep(train, {'n': [1, 2]}, at_once=2)",
}
TRAIN = """
import time
from pathlib import Path
from dsportal import run, sweep

def train(n=0, folder=str(Path.cwd())):
    Path(folder, f"began-{n}").touch()
    while not Path(folder, "go").exists():
        time.sleep(0.1)
    Path(folder, f"ended-{n}").touch()

"""


class Notebook:
    """A kernel whose cell waits for a job."""

    def __init__(self, session: StandInSession, folder: Path) -> None:
        self.folder = folder
        self.manager = KernelManager()
        environ = {**session.environ, "HOME": str(session.working_dir.parent)}
        self.manager.start_kernel(env=environ, cwd=str(folder))
        self._client: BlockingKernelClient = self.manager.blocking_client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=60)

    def wait_for(self, what: str) -> None:
        """Run a cell that waits for a job, and return once the job runs."""
        self._client.execute(TRAIN + WAITS[what])
        eventually(lambda: list(self.folder.glob("began-*")), timeout_s=60)

    def shown(self) -> str:
        """Wait for the end of the cell; return what it printed."""
        text = ""
        while True:
            message = self._client.get_iopub_msg(timeout=60)
            if message["msg_type"] == "stream":
                text += message["content"]["text"]
            elif message["msg_type"] == "error":
                return text

    def close(self) -> None:
        (self.folder / "go").touch()
        self._client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture
def notebook(session: StandInSession, tmp_path: Path) -> Iterator[Notebook]:
    one = Notebook(session, tmp_path)
    yield one
    one.close()


@pytest.mark.parametrize("what", WAITS)
def test_a_job_goes_on_when_the_kernel_that_waits_for_it_ends(
    notebook: Notebook, what: str
) -> None:
    notebook.wait_for(what)

    notebook.manager.shutdown_kernel()
    (notebook.folder / "go").touch()

    eventually(lambda: list(notebook.folder.glob("ended-*")), timeout_s=30)


@pytest.mark.parametrize("what", WAITS)
def test_the_interrupt_button_ends_the_job_that_a_cell_waits_for(
    notebook: Notebook, what: str
) -> None:
    notebook.wait_for(what)

    notebook.manager.interrupt_kernel()

    assert "Stopped" in notebook.shown()
    (notebook.folder / "go").touch()
    throughout(lambda: not list(notebook.folder.glob("ended-*")), 1)
