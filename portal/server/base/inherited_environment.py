"""What kernels, terminals and all else that a notebook server starts inherit from it."""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path

from portal.environments.probe import probe_node
from portal.server.base.commands import offer_commands, offer_modules, replace_missing_shell
from portal.server.base.import_path import drop_relative_paths, guard_ports, offer_library
from portal.server.base.job_environment import leave_no_core_files, prepare_environment
from portal.server.base.shared_storage import expand_storage


def prepare_inherited(environ: MutableMapping[str, str], prefix: Path) -> None:
    """Prepare it; call this before anything is started.

    What a feature has for programs is added when the feature is loaded.

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
