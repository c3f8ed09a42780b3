"""Traits of batchspawner and JupyterHub that this spawner does not use: said as the hub starts."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Instead:
    """What takes the place of a trait.

    Attributes:
        trait: Trait of `SlurmGPUSpawner`; several are joined with "and" or "or".
        key: The same in portal.toml, such as "max_gpus of [choices]"; empty if there is none.
        note: What else there is to know, or why nothing takes its place.
    """

    trait: str = ""
    key: str = ""
    note: str = ""

    def __str__(self) -> str:
        """Return a part of a sentence."""
        words = f"{self.trait} ({self.key} in portal.toml)" if self.key else self.trait
        return ": ".join(part for part in (words or "nothing", self.note) if part)


_BUILT = Instead(note="the spawner builds the job itself")
_READS = Instead(note="the spawner reads squeue and sacct in a format of its own")
_PER_GPU = "for each GPU of the session"
_BY_JOB = Instead(note="Slurm gives the job its cores and memory, and holds it to them")
UNUSED = {
    "req_memory": Instead(
        trait="memory_per_gpu_gib", key="memory_per_gpu_gib of [resources]", note=_PER_GPU
    ),
    "req_nprocs": Instead(trait="cores_per_gpu", key="cores_per_gpu of [resources]", note=_PER_GPU),
    "req_runtime": Instead(
        trait="session_hours and max_session_hours",
        key="session_hours of [resources]",
        note="users choose how long",
    ),
    "req_ngpus": Instead(
        trait="max_gpus", key="max_gpus of [choices]", note="users choose how many"
    ),
    "req_gres": Instead(
        trait="gpu_types", key="gpu_types of [choices]", note="users choose the type"
    ),
    "req_queue": Instead(trait="partitions or req_partition", key="[partitions.NAME]"),
    "req_host": Instead(note="Slurm's commands run on the hub's host"),
    "req_cluster": Instead(note="sessions run on the cluster of slurm.conf"),
    "req_srun": Instead(note="the job starts the notebook server without srun"),
    "req_keepvars_extra": Instead(trait="env_keep or environment"),
    "batch_script": Instead(trait="req_prologue, req_epilogue and req_options"),
    "batch_submit_cmd": _BUILT,
    "batch_query_cmd": _READS,
    "batch_cancel_cmd": Instead(note="scancel gets the job's id and name"),
    "batchspawner_singleuser_cmd": Instead(trait="server_argv", key="server of [environments]"),
    "exec_prefix": Instead(trait="sudo_argv", note="sudo starts the launcher alone"),
    "startup_poll_interval": Instead(
        trait="watch_waiting_s",
        key="watch_waiting_s of [slurm]",
        note="one query for all sessions together",
    ),
    "state_pending_re": _READS,
    "state_running_re": _READS,
    "state_unknown_re": _READS,
    "state_exechost_re": _READS,
    "state_exechost_exp": _READS,
    # JupyterHub's own.
    "cmd": Instead(trait="server_argv", key="server of [environments]"),
    "ip": Instead(note="the server listens on the node's address that reaches the hub"),
    "port": Instead(trait="port_min and port_max"),
    "start_timeout": Instead(
        trait="running_start_timeout_s",
        key="running_start_timeout_s of [slurm]",
        note="time in the queue has no limit and does not count",
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


async def warn_of_unused(hub: Any) -> None:
    """Say in the log of a hub, a `JupyterHub`, what is set in vain."""
    # A hub may load this package and have another spawner.
    if hasattr(hub.spawner_class, "launcher_argv"):
        for sentence in describe_unused(hub.config, hub.spawner_class):
            hub.log.warning("%s", sentence)
