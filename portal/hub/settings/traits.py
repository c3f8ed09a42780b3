"""Which key of portal.toml each trait of the spawner has; a trait is on one of these lists."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from spawner.options.option_table import plain_options

if TYPE_CHECKING:
    from portal.hub.settings.loader import Settings

# Each trait with the attribute of `Settings` that it takes its value from.
KEYED = {
    "cores_per_gpu": "resources.cores_per_gpu",
    "memory_mib_per_gpu": "resources.memory_mib_per_gpu",
    "default_walltime_s": "resources.session_s",
    "max_walltime_s": "resources.max_session_s",
    "port_min": "resources.port_min",
    "port_max": "resources.port_max",
    "any_port": "resources.any_port",
    "max_gpus": "choices.gpu_limit",
    "allow_cpu_only": "choices.allow_cpu_only",
    "gpu_types": "choices.gpu_types",
    **{option.listed_in: f"choices.{option.listed_in}" for _, option in plain_options()},
    "partitions": "partition_names",
    "partition_shapes": "partition_shapes",
    "group_limits": "group_limits",
    "user_limits": "user_limits",
    "warning_s": "clock.slurm_warning_s",
    "extension_s": "extension.step_s",
    "max_extended_s": "extension.most_s",
    "max_extensions": "extension.most_times",
    "extend_while_others_wait": "extension.while_others_wait",
    "slurm_user": "extension.slurm_user",
    "forecasts_per_minute": "forecast.asks_per_minute",
    "rescue_walltime_s": "preflight.rescue_s",
    "rescue_cores": "preflight.rescue_cores",
    "rescue_memory_mib": "preflight.rescue_memory_mib",
    "simulated_gpus": "site.simulated_gpus",
    "slurm_timeout_s": "slurm.timeout_s",
    "watch_waiting_s": "slurm.watch_waiting_s",
    "watch_running_s": "slurm.watch_running_s",
    "running_start_timeout_s": "slurm.running_start_timeout_s",
}
# What the portal makes from several keys.
COMPOSED = frozenset(
    {
        "certificates_dir",
        "forecast_path",
        "preflight",
        "server_argv",
        "session_notices",
        "session_settings",
    }
)
# No key: set in jupyterhub_config.py, and described by the reference.
INTERNAL = (
    "absent_s",
    "orphan_interval_s",
    "orphan_after_s",
    "catalog_age_s",
    "forecast_age_s",
    "associations_age_s",
    "usage_age_s",
    "storage_age_s",
    "http_timeout",
    "poll_interval",
    "default_url",
    "env_keep",
    "launcher_argv",
    "extender_argv",
    "sudo_argv",
)


def trait_values(settings: Settings) -> dict[str, Any]:
    """Return the value of each trait that has a key."""
    values = {trait: attrgetter(place)(settings) for trait, place in KEYED.items()}
    # Traits of several values are lists.
    return {
        trait: list(value) if isinstance(value, tuple) else value for trait, value in values.items()
    }
