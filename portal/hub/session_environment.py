"""What the hub tells each session: settings for the portal's programs, variables for users'."""

from __future__ import annotations

import json

from dsportal.amounts import SECONDS_PER_MINUTE
from portal.hub.settings.loader import Settings
from spawner.session_settings import SessionSettings, Tool

# What jupyter_server_proxy routes leads to every port of the node, whoever listens. nbgitpuller
# fetches unasked whatever a link names. The others watch files for tools that sessions have only
# where the portal's own extension loads them.
EXTENSIONS_OFF = (
    *("jupyter_server_proxy", "nbgitpuller", "nbdime"),
    *("jupyter_server_fileid", "jupyter_server_ydoc"),
)


def session_settings(settings: Settings) -> SessionSettings:
    """Return what the portal's own programs in a session read; the spawner adds the ports."""
    resources, idle, tensorboard = settings.resources, settings.idle, settings.tensorboard
    environments = settings.environments
    return SessionSettings(
        site_name=settings.site.name,
        extensions_on=("portal.server",),
        extensions_off=(*EXTENSIONS_OFF, *(() if settings.git.enabled else ("jupyterlab_git",))),
        log_mib=resources.log_mib,
        cores_per_gpu=resources.cores_per_gpu,
        memory_mib_per_gpu=resources.memory_mib_per_gpu,
        warnings_s=settings.clock.warnings_s,
        meter_interval_s=settings.meter.interval_s,
        idle_after_s=idle.after_minutes * SECONDS_PER_MINUTE,
        idle_warning_s=idle.warning_minutes * SECONDS_PER_MINUTE,
        idle_gpu_percent=idle.gpu_percent,
        idle_cpu_percent=idle.cpu_percent,
        tensorboard_python=environments.tensorboard_python,
        xprof_python=environments.xprof_python,
        tensorboard_limit=tensorboard.limit,
        tensorboard_idle_s=tensorboard.idle_minutes * SECONDS_PER_MINUTE,
        ssh_limit=settings.ssh.limit,
        ssh_forwards_ports=settings.ssh.forwards_ports,
        runs_most_mib=round(settings.runs.most_gib * 1024),
        runs_newest_kept=settings.runs.newest_kept,
        is_shareable=settings.sharing.enabled,
        saves_output=settings.notebooks.save_output,
        resumable_uploads=settings.files.resumable_uploads,
        archives=settings.files.archives and settings.files.downloads,
        previews=settings.files.previews,
        forbids_downloads=not settings.files.downloads,
        forbids_terminals=not settings.terminals.enabled,
        s3_endpoint=settings.s3.endpoint,
        s3_region=settings.s3.region,
        s3_buckets=settings.s3.buckets,
        s3_ca_bundle=settings.s3.ca_bundle,
        environments_file=str(environments.registry),
        image_binds=environments.image_binds,
        site_templates=settings.storage.site_templates,
        mlflow_python=environments.mlflow_python if settings.mlflow.enabled else "",
        mlflow_limit=settings.mlflow.limit,
        mlflow_idle_s=settings.mlflow.idle_minutes * SECONDS_PER_MINUTE,
        git=settings.git.enabled,
        course_hosts=settings.git.course_hosts,
        vscode_program=str(settings.vscode.program) if settings.vscode.enabled else "",
        vscode_gallery=settings.vscode.gallery,
        tools=tuple(
            Tool(name=name, title=tool.title, command=tool.command)
            for name, tool in settings.tools.items()
        ),
    )


def public_variables(settings: Settings) -> dict[str, str]:
    """Return the variables that notebooks, templates in homes and job scripts may read.

    docs/use/in-the-session.md describes them: they stay as they are over releases.
    """
    variables = {
        "PORTAL_STORAGE": json.dumps({place.name: place.folder for place in settings.places}),
        "PORTAL_DATASETS_DIR": settings.datasets,
        "PORTAL_TEMPLATES_DIR": str(settings.storage.templates),
        # A route of an extension that forgets to require a login is refused, not open.
        "JUPYTER_SERVER_ALLOW_UNAUTHENTICATED_ACCESS": "false",
    }
    if settings.site.simulated_gpus:
        variables["PORTAL_GPUS_SIMULATED"] = "1"
    return variables
