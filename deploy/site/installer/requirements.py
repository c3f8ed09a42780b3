"""What an installation needs from this host; missing parts are named, never installed."""

import os
import shutil
import sys
from pathlib import Path

from deploy.common.errors import DeployError
from deploy.environments.builder.choices import kept_python, refuse_python
from deploy.environments.builder.environment import has_venv

# A package of a distribution brings the same program under the other name.
COMMANDS = ("deploy/site/install", "dsportal-install")
COMMAND = COMMANDS[Path(sys.argv[0]).name == COMMANDS[1]]
# sbatch stands for all of Slurm's commands, which come together.
PROGRAMS = ("sudo", "visudo", "sbatch")
VERSION_IN_USE = Path("/opt/data-scientist-portal/current")


def python_for(named: Path | None, version_in_use: Path = VERSION_IN_USE) -> Path:
    """Return the interpreter of the environments."""
    python = named or kept_python(version_in_use)
    refuse_python(python)
    return python


def refuse_lacks(python: Path, *, root_needed: bool) -> None:
    """Check that the portal can be installed on this host.

    `root_needed` is true if something is to be changed.
    """
    if root_needed and os.geteuid() != 0:
        raise DeployError(
            f"{COMMAND} needs root: it makes an account, units and a rule of sudo.",
            next_step=f"Run it as root, or see what it would do: {COMMAND} --check ...",
        )
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    # Not among PROGRAMS: these are modules, which Debian's Python comes without.
    if not has_venv(python):
        lacking.append(f"ensurepip of {python} (package python3-venv on Debian)")
    if lacking:
        raise DeployError(
            f"This host lacks {', '.join(lacking)}.",
            next_step="Install them. This host has to be one from which users submit jobs.",
        )
