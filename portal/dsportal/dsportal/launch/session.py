"""The session of a notebook: one Slurm job on one node, with its GPUs and cores."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from dsportal.errors import SessionError

_NO_NAME = "(null)"
_NO_SESSION = (
    "This Python runs in no Slurm job, so there are no GPUs to start ranks on. Start a session in "
    "the portal and run the notebook there, or start it with srun or sbatch."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionAllocation:
    """What Slurm gave to this notebook.

    Attributes:
        n_gpus: GPUs of the session, real or simulated; 0 if the job asked for none.
        n_usable_cores: Cores that exist: fewer than `n_cores` if Slurm was told of more than the
            node has.
        simulated_gpus: True if the site only counts GPUs and has none.
        memory_mib: Memory in MiB; 0 if Slurm does not say.
        walltime_s: Length of the session in seconds; 0 if the portal did not say.
        n_nodes: Nodes of the job: 1 for a session, more for a notebook as a job.
    """

    job_id: int
    node: str
    n_gpus: int
    n_cores: int
    n_usable_cores: int
    simulated_gpus: bool
    memory_mib: int = 0
    walltime_s: int = 0
    partition: str = ""
    account: str = ""
    qos: str = ""
    n_nodes: int = 1

    @property
    def cores_per_gpu(self) -> int:
        """Cores that came with each GPU; 0 for a session without GPUs."""
        return self.n_cores // self.n_gpus if self.n_gpus else 0

    @property
    def memory_mib_per_gpu(self) -> int:
        """Memory in MiB that came with each GPU; 0 if not known."""
        return self.memory_mib // self.n_gpus if self.n_gpus else 0


def read_session(
    environ: Mapping[str, str], n_usable_cores: int | None = None
) -> SessionAllocation:
    """Return the session that an environment describes.

    Args:
        n_usable_cores: Cores that the process may run on; None asks the system.

    Returns:
        The session. PORTAL_N_GPUS, if the portal set it, overrides Slurm's own count.

    Source:
        sbatch(1), OUTPUT ENVIRONMENT VARIABLES, Slurm 22.05.
    """
    job_id = environ.get("SLURM_JOB_ID") or environ.get("SLURM_JOBID")
    if not job_id:
        raise SessionError(_NO_SESSION)
    if n_usable_cores is None:
        # Slurm may have bound this process to fewer cores than the job has.
        n_usable_cores = len(os.sched_getaffinity(0))
    # A job submitted from a session inherits the portal's variables of that session.
    is_session = environ.get("PORTAL_SESSION_JOB_ID", job_id) == job_id
    of_portal = environ if is_session else {}
    n_gpus = of_portal.get("PORTAL_N_GPUS") or environ.get("SLURM_GPUS_ON_NODE") or "0"
    memory = of_portal.get("PORTAL_SESSION_MEMORY_MIB") or environ.get("SLURM_MEM_PER_NODE")
    n_cores = _number(
        "SLURM_CPUS_ON_NODE", environ.get("SLURM_CPUS_ON_NODE") or str(n_usable_cores)
    )
    return SessionAllocation(
        job_id=_number("SLURM_JOB_ID", job_id),
        # Slurm's name of a node may differ from the host name.
        node=environ.get("SLURMD_NODENAME") or os.uname().nodename,
        n_gpus=_number("the number of GPUs", n_gpus),
        n_cores=n_cores,
        n_usable_cores=min(n_cores, n_usable_cores),
        simulated_gpus=environ.get("PORTAL_GPUS_SIMULATED") == "1",
        memory_mib=_number("the memory in MiB", memory or "0"),
        walltime_s=_number("PORTAL_WALLTIME_S", of_portal.get("PORTAL_WALLTIME_S") or "0"),
        partition=_name(environ.get("SLURM_JOB_PARTITION")),
        account=_name(environ.get("SLURM_JOB_ACCOUNT")),
        qos=_name(environ.get("SLURM_JOB_QOS")),
        n_nodes=_number("SLURM_JOB_NUM_NODES", environ.get("SLURM_JOB_NUM_NODES") or "1"),
    )


def _name(text: str | None) -> str:
    return text if text and text != _NO_NAME and text.isprintable() else ""


def _number(name: str, text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise SessionError(
            f"The environment of this session says {text!r} for {name}, but a number was expected. "
            "Restart the server from the Control Panel. If this continues, tell the administrators."
        )
    return int(text)
