"""What the ranks of a run are to do, and how they and the run ended; kept in the run's folder."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What every rank of a run must know; the secret of the store is not part of it.

    Attributes:
        simulated_gpus: True if the site only counts GPUs and has none.
        working_dir: Folder that the notebook runs in.
        module_paths: The notebook's `sys.path`; empty for that of the rank's own Python.
        n_results: Number of ranks that return their result, from rank 0; 0 for a script.
        n_nodes: Each node has the same number of ranks.
        in_own_job: True if the run is a Slurm job, False if it is a step of the session.
        notebook: Absolute path of the notebook that started it; empty if none did.
        continues: Name of the run whose checkpoints it has a copy of; empty for none.
        mpi: True if Horovod's ranks meet over MPI, False if over Gloo.
        rank_start: Start of the command of a rank in a container image, which lacks the run's
            folder; empty if ranks run in the Python that starts them.
        executes: Absolute path of the notebook that the job runs to its end in place of ranks;
            empty for none.
        parameters: Values for that notebook's cell tagged "parameters", by name.
        walltime_s: Time limit of the job of a notebook, in seconds; 0 if not known.
        log_dir: Where the script of a sweep's point logs for TensorBoard; empty for a run that has
            no such folder.
        cluster: Slurm's name of the cluster that it runs on; empty if not known.
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
    notebook: str = ""
    continues: str = ""
    returns_list: bool = False
    mpi: bool = False
    rank_start: tuple[str, ...] = ()
    executes: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    walltime_s: int = 0
    log_dir: str = ""
    cluster: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """How a rank failed.

    Attributes:
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
        status: Exit status of srun; 0 if all ranks succeeded.
        is_saved: True if the function saved a checkpoint and ended, to be resumed.
        was_pruned: True if a sweep stopped it as one of its worst points.
        seconds: How long the ranks ran; 0 if they were not started.
        reason: Why they failed, and the next step; empty if they did not.
        progress: What they reported, if they have done their work, such as "Done, 8 steps in 31 s".
    """

    status: int
    was_stopped: bool = False
    is_saved: bool = False
    was_pruned: bool = False
    slurm_lines: tuple[str, ...] = ()
    seconds: float = 0
    reason: str = ""
    progress: str = ""

    @property
    def word(self) -> str:
        """One of done, failed, stopped, saved and pruned."""
        if self.was_pruned:
            return "pruned"
        if self.is_saved:
            return "saved"
        if self.was_stopped:
            return "stopped"
        return "failed" if self.status else "done"
