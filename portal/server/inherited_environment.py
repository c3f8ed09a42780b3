"""What kernels, terminals and all else that a notebook server starts inherit from it."""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path

from portal.environments.probe import probe_node
from portal.server.base.commands import offer_commands, offer_modules, replace_missing_shell
from portal.server.base.storage_links import expand_storage
from portal.server.git.settings import offer_git
from portal.server.kernels.import_path import drop_relative_paths, guard_ports, offer_library
from portal.server.kernels.inheritance import leave_no_core_files, prepare_environment
from portal.server.s3.drive import offer_s3
from portal.server.viewers.mlflow.tracking import offer_mlflow
from spawner.session_settings import SessionSettings


def prepare_inherited(environ: MutableMapping[str, str], prefix: Path) -> None:
    """Prepare what is the same on each site; call it before anything is started.

    Args:
        environ: Of this process.
        prefix: Environment of the notebook server.
    """
    drop_relative_paths(environ)
    expand_storage(environ)
    offer_library(environ, prefix)
    guard_ports(environ)
    replace_missing_shell(environ)
    offer_commands(environ, prefix)
    offer_modules(environ, probe_node(environ).module_init)
    prepare_environment(environ)
    leave_no_core_files()


def offer_tools(
    environ: MutableMapping[str, str], prefix: Path, settings: SessionSettings, private_dir: Path
) -> None:
    """Tell programs where the site's tools are.

    Args:
        environ: Of this process.
        prefix: Environment of the notebook server.
        settings: What the hub says.
        private_dir: Folder that only the user can enter.
    """
    offer_mlflow(environ, settings)
    offer_s3(environ, settings)
    if settings.git:
        offer_git(environ, prefix, private_dir)
