"""The session that a notebook runs in: one Slurm job on one node, with its GPUs and cores."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeGuard

from portal.launch.errors import SessionError

_NO_SESSION = (
    "This Python runs in no Slurm job, so there are no GPUs to start ranks on. Start a session in "
    "the portal and run the notebook there, or start it with srun or sbatch."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What Slurm gave to this notebook.

    Attributes:
        job_id: The Slurm job of the session.
        node: Slurm's name of the node.
        n_gpus: GPUs of the session, real or simulated; 0 where the job asked for none.
        n_cores: Cores that Slurm gave to the session.
        n_usable_cores: Those of them that are there. Where Slurm was told of more cores than the
            node has, this is the smaller number.
        simulated_gpus: True where the site only counts GPUs and has none.
    """

    job_id: int
    node: str
    n_gpus: int
    n_cores: int
    n_usable_cores: int
    simulated_gpus: bool

    def check_ranks(self, gpus: object, nodes: object) -> int:
        """Return how many ranks to start for what a user asked.

        Args:
            gpus: GPUs to use, 1 to `n_gpus`; None for all of them.
            nodes: Nodes to use: 1.

        Returns:
            The number of ranks: one for each GPU.

        Raises:
            SessionError: If the session has no GPU, or not so many, or nodes is not 1.
        """
        if not _is_count(nodes) or nodes != 1:
            raise SessionError(
                f"You asked for nodes={nodes!r}; a run uses the one node of the session. Leave "
                "nodes out, or give a job for several nodes to sbatch."
            )
        if not self.n_gpus:
            raise SessionError(
                "A run has one rank for each GPU, and this session has no GPU. Stop the server in "
                "the Control Panel and start one with GPUs."
            )
        if gpus is None:
            return self.n_gpus
        if not _is_count(gpus) or not 1 <= gpus <= self.n_gpus:
            raise SessionError(
                f"You asked for gpus={gpus!r}; this session has {self.n_gpus}. Choose "
                f"{_choice(self.n_gpus)}, or start a session with more GPUs in the Control Panel."
            )
        return gpus


def read_session(environ: Mapping[str, str], n_usable_cores: int | None = None) -> Session:
    """Return the session that an environment describes.

    Args:
        environ: Environment of the notebook, with the SLURM_* variables of its job.
        n_usable_cores: Cores that the process may run on; None asks the system.

    Returns:
        The session. PORTAL_N_GPUS, where the portal set it, goes before Slurm's own count.

    Raises:
        SessionError: If the environment is that of no Slurm job, or cannot be read.

    Source:
        sbatch(1), OUTPUT ENVIRONMENT VARIABLES, Slurm 22.05.
    """
    job_id = environ.get("SLURM_JOB_ID") or environ.get("SLURM_JOBID")
    if not job_id:
        raise SessionError(_NO_SESSION)
    if n_usable_cores is None:
        n_usable_cores = len(os.sched_getaffinity(0))
    n_gpus = environ.get("PORTAL_N_GPUS") or environ.get("SLURM_GPUS_ON_NODE") or "0"
    n_cores = _number(
        "SLURM_CPUS_ON_NODE", environ.get("SLURM_CPUS_ON_NODE") or str(n_usable_cores)
    )
    return Session(
        job_id=_number("SLURM_JOB_ID", job_id),
        node=environ.get("SLURMD_NODENAME") or os.uname().nodename,
        n_gpus=_number("the number of GPUs", n_gpus),
        n_cores=n_cores,
        n_usable_cores=min(n_cores, n_usable_cores),
        simulated_gpus=environ.get("PORTAL_GPUS_SIMULATED") == "1",
    )


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _choice(n_gpus: int) -> str:
    return "1" if n_gpus == 1 else f"1 to {n_gpus}"


def _number(name: str, text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise SessionError(
            f"The environment of this session says {text!r} for {name}; a number was expected. "
            "Restart the server from the Control Panel; if it stays, tell the administrators."
        )
    return int(text)
