"""Turns a user's request into a Slurm job that runs a Jupyter server."""

from typing import Any

__version__ = "0.1.0"


def configure(c: Any, **traits: Any) -> None:
    """Add the spawner's form and pages to a JupyterHub that a site already has.

    Call it at the end of `jupyterhub_config.py`. Authenticator, services, roles and `base_url` stay
    as they are; own templates, routes and template variables come first. Twice does no harm.

    Args:
        c: JupyterHub's configuration, what `get_config()` returns.
        traits: Traits of `SlurmGPUSpawner`, such as `partitions=["gpu"]`.
    """
    # Late: nodes import this package without JupyterHub's own.
    from portal.hub.existing_hub import add_spawner

    add_spawner(c, traits)
