"""Traits that batchspawner brings and that this spawner does not use: said in the hub's log."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

_NO_SUCH = "nothing takes its place: "
_BUILT = f"{_NO_SUCH}the portal builds the job itself"
_READS = f"{_NO_SUCH}the portal reads squeue and sacct in a format of its own"
# Each with what takes its place.
UNUSED = {
    "req_memory": "memory_per_gpu_gib of [resources] in portal.toml",
    "req_nprocs": "cores_per_gpu of [resources] in portal.toml",
    "req_runtime": "session_hours of [resources] in portal.toml",
    "req_ngpus": "max_gpus of [choices] in portal.toml; users choose how many",
    "req_gres": "gpu_types of [choices] in portal.toml",
    "req_queue": "[partitions.NAME] in portal.toml, or req_partition",
    "req_host": f"{_NO_SUCH}Slurm's commands run on the hub's host",
    "req_cluster": f"{_NO_SUCH}sessions run on the cluster of slurm.conf",
    "req_srun": f"{_NO_SUCH}the job starts the notebook server without srun",
    "req_keepvars_extra": "env_keep or environment of the spawner",
    "batch_script": "req_prologue, req_epilogue and req_options",
    "batch_submit_cmd": _BUILT,
    "batch_query_cmd": _READS,
    "batch_cancel_cmd": f"{_NO_SUCH}scancel gets the job's id alone",
    "batchspawner_singleuser_cmd": "server of [environments] in portal.toml",
    "exec_prefix": "sudo_argv of the spawner",
    "startup_poll_interval": "watch_waiting_s of [slurm] in portal.toml",
    "state_pending_re": _READS,
    "state_running_re": _READS,
    "state_unknown_re": _READS,
    "state_exechost_re": _READS,
    "state_exechost_exp": _READS,
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
                    f"c.{cls.__name__}.{trait} is set and not used. Remove it; in its place:"
                    f" {UNUSED[trait]}."
                )


class UnusedTraits:
    """Says these sentences in the hub's log, once for each start of the hub."""

    def __init__(self) -> None:
        self._is_said = False

    def warn(self, config: Mapping[str, Any], spawner_class: type, log: logging.Logger) -> None:
        """Log them, if that was not done yet.

        Args:
            config: JupyterHub's configuration: values by trait, by class.
            spawner_class: The hub's.
            log: The hub's.
        """
        if not self._is_said:
            self._is_said = True
            for sentence in describe_unused(config, spawner_class):
                log.warning("%s", sentence)
