"""Traits of batchspawner and JupyterHub that this spawner does not use: said as the hub starts."""

from collections.abc import Iterator, Mapping
from typing import Any

from jupyterhub.app import JupyterHub

_READS = "nothing: the spawner reads squeue and sacct in a format of its own"
_BY_JOB = "nothing: Slurm gives the job its cores and memory, and holds it to them"
# By trait: that of `SlurmGPUSpawner` in its place, the key of portal.toml, and what else to know.
UNUSED = {
    "req_memory": (
        "memory_per_gpu_gib (memory_per_gpu_gib of [resources] in portal.toml): for each GPU of the"
        " session"
    ),
    "req_nprocs": (
        "cores_per_gpu (cores_per_gpu of [resources] in portal.toml): for each GPU of the session"
    ),
    "req_runtime": (
        "session_hours and max_session_hours (session_hours of [resources] in portal.toml): users"
        " choose how long"
    ),
    "req_ngpus": "max_gpus (max_gpus of [choices] in portal.toml): users choose how many",
    "req_gres": "gpu_types (gpu_types of [choices] in portal.toml): users choose the type",
    "req_queue": "partitions or req_partition ([partitions.NAME] in portal.toml)",
    "req_host": "nothing: Slurm's commands run on the hub's host",
    "req_cluster": "nothing: sessions run on the cluster of slurm.conf",
    "req_srun": "nothing: the job starts the notebook server without srun",
    "req_keepvars_extra": "env_keep or environment",
    "batch_script": "req_prologue, req_epilogue and req_options",
    "batch_submit_cmd": "nothing: the spawner builds the job itself",
    "batch_query_cmd": _READS,
    "batch_cancel_cmd": "nothing: scancel gets the job's id and name",
    "batchspawner_singleuser_cmd": "server_argv (server of [environments] in portal.toml)",
    "exec_prefix": "sudo_argv: sudo starts the launcher alone",
    "startup_poll_interval": (
        "watch_waiting_s (watch_waiting_s of [slurm] in portal.toml): one query for all sessions"
        " together"
    ),
    "state_pending_re": _READS,
    "state_running_re": _READS,
    "state_unknown_re": _READS,
    "state_exechost_re": _READS,
    "state_exechost_exp": _READS,
    # JupyterHub's own.
    "cmd": "server_argv (server of [environments] in portal.toml)",
    "ip": "nothing: the server listens on the node's address that reaches the hub",
    "port": "port_min and port_max",
    "start_timeout": (
        "running_start_timeout_s (running_start_timeout_s of [slurm] in portal.toml): time in the"
        " queue has no limit and does not count"
    ),
    "mem_limit": _BY_JOB,
    "mem_guarantee": _BY_JOB,
    "cpu_limit": _BY_JOB,
    "cpu_guarantee": _BY_JOB,
}


def describe_unused(config: Mapping[str, Any], spawner_class: type) -> Iterator[str]:
    """Yield a sentence for each trait that is set and does nothing.

    Args:
        config: JupyterHub's configuration: values by trait, by class.
        spawner_class: The hub's; settings of the classes that it inherits from count, too.
    """
    # traitlets lets a setting of a parent class count for its children.
    for cls in spawner_class.__mro__:
        # The `in` comes first: traitlets makes an empty section for a name that is asked for.
        for trait in sorted(config[cls.__name__]) if cls.__name__ in config else ():
            if trait in UNUSED:
                yield (
                    f"c.{cls.__name__}.{trait} is set and not used. Remove it. In its place:"
                    f" {UNUSED[trait]}."
                )


async def warn_of_unused(hub: JupyterHub) -> None:
    """Say in the log of a hub, a `JupyterHub`, what is set in vain."""
    # A hub may load this package and have another spawner.
    if hasattr(hub.spawner_class, "launcher_argv"):
        for sentence in describe_unused(hub.config, hub.spawner_class):
            hub.log.warning("%s", sentence)
