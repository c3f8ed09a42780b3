"""What ranks of a run are to do, and how they and the run ended; kept in the run's folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What every rank of a run must know; the secret of the store is not among it.

    Attributes:
        n_ranks: Ranks that were asked for.
        cores_per_rank: Cores for each rank.
        simulated_gpus: True where the GPUs of the session do not compute.
        working_dir: Folder that the notebook runs in.
        module_paths: The notebook's search path of modules.
        n_results: How many ranks give their result back, from rank 0 on.
        n_nodes: Nodes that hold the same number of ranks each.
        cores_per_node: Cores to ask srun for on each node.
        in_own_job: True where the run is a Slurm job, False where it is a step of the session.
        returns_list: True where the results of all ranks were asked for.
        checkpoint_dir: Folder of the checkpoints; that of an earlier run where it is resumed.
        mpi: True where Horovod's ranks meet over MPI, False where over Gloo.
    """

    n_ranks: int
    cores_per_rank: int
    simulated_gpus: bool
    working_dir: str
    module_paths: tuple[str, ...]
    n_results: int
    n_nodes: int = 1
    cores_per_node: int = 1
    in_own_job: bool = False
    checkpoint_dir: str = ""
    returns_list: bool = False
    mpi: bool = False

    def with_checkpoints(self, folder: Path) -> Plan:
        """Return the plan with a folder of checkpoints.

        Args:
            folder: The folder; it need not exist.

        Returns:
            The plan.
        """
        return replace(self, checkpoint_dir=str(folder))


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """How a rank failed.

    Attributes:
        rank: Its number.
        node: Slurm's name of its node.
        time_s: When, in seconds since 1970 by the node's clock.
        summary: Name and text of the exception.
        traceback_text: The traceback from the user's function on.
    """

    rank: int
    node: str
    time_s: float
    summary: str
    traceback_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How the ranks of a run ended, as srun saw it.

    Attributes:
        status: Exit status of srun; 0 where all ranks ended well.
        was_stopped: True where the ranks were told to end.
        is_saved: True where the function saved a checkpoint and ended to go on later.
        slurm_lines: What srun itself printed.
    """

    status: int
    was_stopped: bool = False
    is_saved: bool = False
    slurm_lines: tuple[str, ...] = ()
