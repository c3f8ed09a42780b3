"""A training on two nodes, started from a cell, and what may break it."""

import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.lab.faults.fault import let_pass
from tests.lab.faults.member import Member
from tests.lab.faults.node_faults import DOWN_TIMEOUT_S, POWER_AWAY_S, USABLE, states_of
from tests.lab.faults.stage import jobs_of, run
from tests.support import parts
from tests.support.eventually import eventually

KERNEL = "pytorch"
NETWORK_AWAY_S = 30
# PyTorch is imported by two ranks at once.
BEGIN_TIMEOUT_S = 240
CELL_TIMEOUT_S = 600
N_STEPS_BEFORE = 5
TRAINED, TOLD = "TRAINED", "TOLD"
# Each rank says where it is and how far; all end at the step at which one of them is told to.
CELL = """\
from pathlib import Path
from dsportal import LaunchError, run

def train(folder):
    import os, socket, time
    import torch, torch.distributed as dist
    dist.init_process_group("gloo")
    rank, step = dist.get_rank(), 0
    Path(folder, f"rank-{rank}").write_text(f"{os.getpid()} {socket.gethostname()}")
    is_over = torch.zeros(1)
    while not is_over.item():
        is_over = torch.tensor([float(Path(folder, "over").exists())])
        dist.all_reduce(is_over)
        step += 1
        Path(folder, f"step-{rank}").write_text(str(step))
        time.sleep(0.2)
    dist.destroy_process_group()
    return step

folder = Path(FOLDER)
folder.mkdir()
try:
    print("TRAINED", run(train, FOLDER, gpus=2, nodes=2, hours=1))
except LaunchError as error:
    print("TOLD", error)
"""


class Training:
    """A cell that trains on two ranks of two nodes until it is told to end."""

    def __init__(self, trainer: Member) -> None:
        self.trainer = trainer
        self.folder = Path("/home", trainer.name, f"training-{secrets.token_hex(4)}")
        code = f"FOLDER = {str(self.folder)!r}\n{CELL}"
        kernel = trainer.start_kernel(KERNEL)
        pool = ThreadPoolExecutor(1)
        self._shown: Future[str] = pool.submit(
            trainer.run_cell, code, kernel=kernel, timeout_s=CELL_TIMEOUT_S
        )
        # Its thread ends with the cell.
        pool.shutdown(wait=False)
        eventually(self._has_begun, timeout_s=BEGIN_TIMEOUT_S)

    def _has_begun(self) -> bool:
        if self._shown.done():
            raise RuntimeError(f"the training ended at once: {self._shown.result()}")
        return self.n_steps() >= N_STEPS_BEFORE

    def n_steps(self) -> int:
        """Return how many steps both ranks have done."""
        texts = (self.folder.joinpath(f"step-{rank}").read_text() for rank in (0, 1))
        return min(int(text or 0) for text in texts)

    def end(self) -> str:
        """Tell the ranks to end, and return what the cell shows."""
        if self.folder.exists():
            self.folder.joinpath("over").touch()
        return self._shown.result(timeout=CELL_TIMEOUT_S)

    def wait_for_words(self) -> None:
        """Wait until the cell has ended by itself."""
        self._shown.result(timeout=CELL_TIMEOUT_S)

    def other_rank(self) -> tuple[int, int, str]:
        """Return number, process and node of the rank that is not on the session's own node."""
        own = jobs_of(self.trainer)[0].node
        words = [self.folder.joinpath(f"rank-{rank}").read_text().split() for rank in (0, 1)]
        rank = next(rank for rank in (1, 0) if words[rank][1] != own)
        return rank, int(words[rank][0]), words[rank][1]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingFault:
    """A fault of a training.

    Args:
        strike: Breaks something when it is entered, and heals it when it is left.
    """

    name: str
    what: str
    strike: Callable[[Training], AbstractContextManager[None]]
    says: tuple[str, ...]


@contextmanager
def kill_rank(training: Training) -> Iterator[None]:
    """Kill a rank, as the kernel does when memory runs out."""
    _, pid, node = training.other_rank()
    parts.on_node(node, "kill", "-KILL", str(pid))
    training.wait_for_words()
    yield


@contextmanager
def lose_node(training: Training) -> Iterator[None]:
    """Take the power of a rank's node away until Slurm has given it up."""
    _, _, node = training.other_rank()
    parts.kill(node)
    let_pass(POWER_AWAY_S)
    run("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=power")
    try:
        training.wait_for_words()
        yield
    finally:
        parts.start(node)
        run("scontrol", "update", f"NodeName={node}", "State=RESUME")
        eventually(lambda: states_of(node) <= USABLE, timeout_s=DOWN_TIMEOUT_S)


@contextmanager
def cut_network(training: Training) -> Iterator[None]:
    """Pull the cable of a rank's node."""
    link = f"dsp-{training.other_rank()[2]}"
    run("ip", "link", "set", link, "down")
    try:
        let_pass(NETWORK_AWAY_S)
        yield
    finally:
        run("ip", "link", "set", link, "up")


FAULTS = (
    TrainingFault(
        name="training-rank-killed",
        what="a rank of a training on two nodes killed",
        strike=kill_rank,
        says=(TOLD, "rank ", "Killed"),
    ),
    TrainingFault(
        name="training-node-without-power",
        what="a node of a training on two nodes without power until Slurm has given it up",
        strike=lose_node,
        says=(TOLD, "failed, or no longer served the run"),
    ),
    TrainingFault(
        name="training-without-network",
        what=f"network between the ranks of a training down for {NETWORK_AWAY_S} s",
        strike=cut_network,
        says=(TRAINED,),
    ),
)
