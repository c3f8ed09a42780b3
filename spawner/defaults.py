"""The spawner's defaults, each here and nowhere else in hub and spawner.

The traits of `SlurmGPUSpawner`, which also works without the portal, and the keys of portal.toml
both take theirs from here. What only the portal knows has its default in `portal/hub/settings`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """Numbers and names that hold until an operator says otherwise; `SiteTraits` says what each is.

    Source:
        8 cores and 48 GB for each GPU: Dell EMC, Deep Learning with NVIDIA, 2018, section 5.1.
    """

    cores_per_gpu: int = 8
    memory_mib_per_gpu: int = 48 * 1024
    default_walltime_s: int = 8 * 3600
    max_walltime_s: int = 24 * 3600
    warning_s: int = 120

    extension_s: int = 0
    max_extended_s: int = 24 * 3600
    max_extensions: int = 1
    extend_while_others_wait: bool = False
    slurm_user: str = "slurm"

    # Below 32768, where Linux's ports for outgoing connections begin: those would take some of
    # them.
    port_min: int = 30000
    port_max: int = 32767
    any_port: bool = True

    running_start_timeout_s: int = 300
    http_timeout_s: int = 120
    poll_interval_s: int = 60
    default_url: str = "/lab"

    slurm_timeout_s: float = 8.0
    # One squeue for all sessions; with 500 jobs it took 13 ms (Slurm 22.05).
    watch_waiting_s: float = 2.0
    watch_running_s: float = 15.0
    absent_s: float = 60.0
    orphan_interval_s: float = 300.0
    orphan_after_s: float = 120.0

    catalog_age_s: float = 5.0
    associations_age_s: float = 300.0
    # sacct took 0.1 s, the slowest of the queries (Slurm 22.05), and its database serves the site.
    usage_age_s: float = 300.0
    storage_age_s: float = 300.0
    forecast_age_s: float = 60.0
    # Each costs slurmctld about as much as a submission.
    forecasts_per_minute: int = 30

    min_free_mib: int = 16
    preflight_timeout_s: float = 3.0
    rescue_walltime_s: int = 3600
    rescue_cores: int = 1
    rescue_memory_mib: int = 2048

    allow_cpu_only: bool = False
    simulated_gpus: bool = False

    server_environment: str = "/opt/data-scientist-portal/environments/server"
    launcher: str = "/opt/data-scientist-portal/libexec/dsportal-launcher"
    extender: str = "/opt/data-scientist-portal/libexec/dsportal-extender"


DEFAULTS = Defaults()
# In the environment of the notebook server; the job starts it.
SERVER_PROGRAM = "bin/dsportal-singleuser"
