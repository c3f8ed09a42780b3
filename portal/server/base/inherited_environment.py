"""What kernels, terminals and all else that a notebook server starts inherit from it.

PYTHONPATH has nothing of the notebook's folder, `dsportal`, and guarded ports. Of the job's
variables there are those that describe it.
"""

import os
import resource
from collections.abc import MutableMapping
from pathlib import Path

from portal.environments.command import FIRST_IN_PATH, INSTALLED_START, LIBRARY_VARIABLE
from portal.environments.probe import probe_node
from portal.server.base.commands import offer_commands, offer_modules, replace_missing_shell
from portal.server.base.shared_storage import expand_storage

VARIABLE = "PYTHONPATH"
# In a checkout; an installed portal has a copy in the server's environment.
_SOURCE = Path(__file__).parents[2] / "dsportal"


def drop_relative_paths(environ: MutableMapping[str, str]) -> None:
    """Keep a kernel from importing modules of the notebook's folder before the first cell runs.

    An empty part of PYTHONPATH means the folder that Python is started in, which for a kernel may
    belong to somebody else. Shell lines such as `PYTHONPATH=$PYTHONPATH:/software` make one.
    """
    if VARIABLE in environ:
        parts = environ[VARIABLE].split(os.pathsep)
        environ[VARIABLE] = os.pathsep.join(part for part in parts if os.path.isabs(part))


def offer_library(environ: MutableMapping[str, str], prefix: Path) -> None:
    """Let every Python of the session import `dsportal`, whatever environment it belongs to.

    The folder holds that package alone, so nothing of an environment is hidden.

    Args:
        environ: Changed: PYTHONPATH and PORTAL_LIBRARY.
        prefix: Environment of the notebook server.
    """
    folders = (folder for folder in (_SOURCE, prefix / "library") if folder.is_dir())
    if folder := next(folders, None):
        environ[LIBRARY_VARIABLE] = str(folder)
        environ[VARIABLE] = os.pathsep.join([*_parts(environ), str(folder)])


def guard_ports(environ: MutableMapping[str, str]) -> None:
    """Let only the user reach what debuggers and kernels open, in every Python of the session.

    The folder in front of PYTHONPATH holds `sitecustomize` alone, which runs the one that it hides.
    """
    library = environ.get(LIBRARY_VARIABLE)
    first = Path(library) / FIRST_IN_PATH if library else INSTALLED_START / "first"
    environ[VARIABLE] = os.pathsep.join([str(first), *_parts(environ)])


def _parts(environ: MutableMapping[str, str]) -> list[str]:
    return [part for part in environ.get(VARIABLE, "").split(os.pathsep) if part]


# The variables that describe the session's job. All others would be read by sbatch and srun as
# options, and shape the next job or step.
_DESCRIBE_THE_JOB = frozenset(
    {
        *("SLURM_CLUSTER_NAME", "SLURM_CONF", "SLURM_JWT", "SLURM_TMPDIR"),
        *("SLURM_JOB_ID", "SLURM_JOBID", "SLURM_JOB_UID", "SLURM_JOB_USER", "SLURM_JOB_GID"),
        *("SLURM_JOB_ACCOUNT", "SLURM_JOB_PARTITION", "SLURM_JOB_QOS", "SLURM_JOB_NODELIST"),
        *("SLURM_JOB_START_TIME", "SLURM_JOB_END_TIME", "SLURM_JOB_GPUS"),
        *("SLURM_CPUS_ON_NODE", "SLURM_GPUS_ON_NODE", "SLURM_JOB_CPUS_PER_NODE"),
        *("SLURM_SUBMIT_DIR", "SLURM_SUBMIT_HOST"),
    }
)
_OPTIONS = ("SLURM_", "SBATCH_", "SRUN_", "SALLOC_")
_DEFAULTS = {
    # Kernels of a session share its GPUs, and TensorFlow would take all their memory for the first.
    "TF_FORCE_GPU_ALLOW_GROWTH": "true",
    # Every user of the node reaches Ray's ports, and Ray before 2.59 runs what anybody sends there.
    "RAY_AUTH_MODE": "token",
}
_MEMORY = "PORTAL_SESSION_MEMORY_MIB"


def prepare_environment(environ: MutableMapping[str, str]) -> None:
    """Remove from `environ` what Slurm set for the session's job only.

    What is still needed, such as the session's memory in MiB, is kept under names of the portal's
    own.

    Source:
        srun(1) and sbatch(1), INPUT ENVIRONMENT VARIABLES, Slurm 22.05. A step of a smaller job
        fails with "Step requested gres_per_node=gpu:2 is more than the job's gres_per_node=gpu:1".
    """
    if memory_mib := _memory_mib(environ):
        environ[_MEMORY] = str(memory_mib)
    if "SLURM_JOB_ID" in environ:
        environ["PORTAL_SESSION_JOB_ID"] = environ["SLURM_JOB_ID"]
    for name in [*environ]:
        if name.startswith(_OPTIONS) and name not in _DESCRIBE_THE_JOB:
            del environ[name]
    for name, value in _DEFAULTS.items():
        # Not over what the site's prologue or the user has chosen.
        environ.setdefault(name, value)


def leave_no_core_files() -> None:
    """Disable core files, which can be as large as the memory of the process that dies.

    Only the soft limit changes: `ulimit -c` raises it again.
    """
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))


def _memory_mib(environ: MutableMapping[str, str]) -> int:
    n_cores = environ.get("SLURM_CPUS_ON_NODE", "")
    # Slurm sets one of the two, depending on how memory was requested.
    for name, factor in (("SLURM_MEM_PER_NODE", "1"), ("SLURM_MEM_PER_CPU", n_cores)):
        text = environ.get(name, "")
        if text.isdecimal() and factor.isdecimal():
            return int(text) * int(factor)
    return 0


def prepare_inherited(environ: MutableMapping[str, str], prefix: Path) -> None:
    """Prepare it; call this before anything is started.

    What a feature has for programs is added when the feature is loaded.

    Args:
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
