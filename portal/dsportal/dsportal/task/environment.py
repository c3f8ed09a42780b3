"""Environment variables for srun and for each rank. Pure."""

from collections.abc import Mapping

from dsportal.task.gpus import gpu_variables, visible_gpus
from dsportal.task.inherited import inherited
from dsportal.task.placement import Placement

# What srun needs to know about its job. Everything else that Slurm put into the session describes
# the one task of the notebook server, and srun would take it as an option.
_KEPT_SLURM_VARIABLES = frozenset(
    {"SLURM_CLUSTER_NAME", "SLURM_CONF", "SLURM_JOBID", "SLURM_JOB_ID", "SLURM_JWT"}
)

CPU_CYCLE_TIME_MS = 5
RENDEZVOUS_VARIABLE = "PORTAL_RUN_RENDEZVOUS"
_MPI = {"HOROVOD_CONTROLLER": "mpi", "HOROVOD_CPU_OPERATIONS": "mpi"}


def step_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for srun: the notebook's without what is the session's alone.

    Python is unbuffered, so that lines reach the cell as they are printed.

    Source:
        srun(1), INPUT ENVIRONMENT VARIABLES, Slurm 22.05: SLURM_CPUS_PER_TASK, SLURM_NTASKS,
        SLURM_MEM_PER_NODE, SLURM_EXPORT_ENV and others would change the step.
    """
    kept = {
        name: value
        for name, value in inherited(environ).items()
        if name in _KEPT_SLURM_VARIABLES or not name.startswith(("SLURM", "SRUN_", "SBATCH_"))
    }
    # Unbuffered, so that the cell shows what a rank prints at once.
    return {**kept, "PYTHONUNBUFFERED": "1"}


def rank_environment(
    placement: Placement,
    environ: Mapping[str, str],
    *,
    n_threads: int,
    simulated_gpus: bool,
    rendezvous: tuple[str, int],
    interface: str = "",
    one_gpu_each: bool = True,
    mpi: bool = False,
) -> dict[str, str]:
    """Return the variables to set in a rank before any framework is imported.

    Args:
        rendezvous: Address and port for Horovod, from `Store.horovod_address`.
        interface: Network interface towards the other nodes, such as "ib0"; empty if not known.
            Ranks on one node use the loopback interface.
        one_gpu_each: True to show each rank only its own GPU. Functions for PyTorch choose theirs
            by LOCAL_RANK, as with torchrun, and so must see those of all ranks of the node.

    Returns:
        Variables to set: Horovod's, PyTorch's, the number of threads, and the rank's GPU.
        HOROVOD_CYCLE_TIME, MPLBACKEND, TF_CPP_MIN_LOG_LEVEL and TF_FORCE_GPU_ALLOW_GROWTH keep a
        user's value.

    Source:
        Horovod 0.28.1, gloo_context.cc and env_parser.cc; TensorFlow 2.21, process_util.cc. Our
        measurement, 2 ranks on 2 cores, share of a core that Horovod's thread takes in a rank that
        waits: 9 % at its default cycle of 1 ms, 4 % at 5 ms, 1.4 % at 20 ms, 0.7 % at 100 ms. A
        longer cycle makes each step of a small model wait for it.
    """
    # All ranks are on one node, so nothing has to be open to the network.
    if placement.local_size == placement.size:
        interface = "lo"
    defaults = {
        "TF_CPP_MIN_LOG_LEVEL": "1",
        "TF_FORCE_GPU_ALLOW_GROWTH": "true",
        # A rank has no page to show a plot on.
        "MPLBACKEND": "Agg",
    }
    if simulated_gpus:
        # Without GPUs, Horovod's polling for new gradients takes time from the training itself.
        defaults["HOROVOD_CYCLE_TIME"] = str(CPU_CYCLE_TIME_MS)
    return {
        **{name: environ.get(name) or value for name, value in defaults.items()},
        "OMP_NUM_THREADS": str(n_threads),
        "TF_NUM_INTRAOP_THREADS": str(n_threads),
        "TF_NUM_INTEROP_THREADS": "2",
        **_horovod_variables(placement),
        **(_MPI if mpi else _gloo_variables(rendezvous, interface)),
        **_torch_variables(placement),
        **_interface_variables(interface),
        **gpu_variables(
            placement,
            visible_gpus(environ),
            simulated_gpus=simulated_gpus,
            one_gpu_each=one_gpu_each,
        ),
    }


def _horovod_variables(placement: Placement) -> dict[str, str]:
    return {
        "HOROVOD_RANK": str(placement.rank),
        "HOROVOD_SIZE": str(placement.size),
        "HOROVOD_LOCAL_RANK": str(placement.local_rank),
        "HOROVOD_LOCAL_SIZE": str(placement.local_size),
        "HOROVOD_CROSS_RANK": str(placement.cross_rank),
        "HOROVOD_CROSS_SIZE": str(placement.cross_size),
        "HOROVOD_HOSTNAME": placement.node,
    }


def _gloo_variables(rendezvous: tuple[str, int], interface: str) -> dict[str, str]:
    address, port = rendezvous
    return {
        "HOROVOD_CONTROLLER": "gloo",
        "HOROVOD_CPU_OPERATIONS": "gloo",
        "HOROVOD_GLOO_RENDEZVOUS_ADDR": address,
        "HOROVOD_GLOO_RENDEZVOUS_PORT": str(port),
        **({"HOROVOD_GLOO_IFACE": interface} if interface else {}),
    }


def _torch_variables(placement: Placement) -> dict[str, str]:
    # The address and port are required but not used: see torch_store.
    return {
        "RANK": str(placement.rank),
        "WORLD_SIZE": str(placement.size),
        "LOCAL_RANK": str(placement.local_rank),
        "LOCAL_WORLD_SIZE": str(placement.local_size),
        "GROUP_RANK": str(placement.cross_rank),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "1",
    }


def _interface_variables(interface: str) -> dict[str, str]:
    if not interface:
        return {}
    nccl = {} if interface == "lo" else {"NCCL_SOCKET_IFNAME": interface}
    return {"GLOO_SOCKET_IFNAME": interface, **nccl}
