"""Builds a session's job: the options of sbatch and the batch script. Nothing runs here."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from dsportal.slurm.units import format_memory, format_walltime
from spawner.errors import SettingsError
from spawner.own_config import SWITCH
from spawner.slurm.resources import Resources

# The signal that --signal sends; the session clock on the node waits for it.
WARNING_SIGNAL = "USR1"

# What a notebook server would write into the home goes to the node's disk, and it reads no settings
# there. Folders can be deleted with all that is in them; JupyterHub has switched the trash off, so
# that frees space at once.
_RESCUE_LINES = (
    "folder=$(mktemp -d /tmp/dsportal-rescue-XXXXXXXX) || exit 1",
    'exec >"$folder/session.log" 2>&1',
    'mkdir "$folder/config"',
    """echo '{"FileContentsManager": {"always_delete_dir": true}}' """
    '>"$folder/config/jupyter_server_config.json"',
    'export JUPYTER_CONFIG_DIR="$folder/config" JUPYTER_DATA_DIR="$folder/data"',
    'export JUPYTER_RUNTIME_DIR="$folder/runtime" IPYTHONDIR="$folder/ipython"',
    'export XDG_CACHE_HOME="$folder/cache" MPLCONFIGDIR="$folder/matplotlib"',
    # A configuration can lie in the home itself, too.
    f"export {SWITCH}=1",
    # Packages, templates and links would be written into the home.
    "export PORTAL_PACKAGES=off",
    "unset PORTAL_TEMPLATES_DIR PORTAL_STORAGE",
)
_OPTION = re.compile(r"--[a-z][a-z-]*(?:=[\x20-\x7e]*)?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """Everything that a session's job depends on.

    Attributes:
        job_name: Holds the session's id.
        comment: Says which hub the session belongs to.
        walltime_s: Time limit in seconds, 60 or more.
        server_argv: Program of the notebook server, as an absolute path, with its arguments.
        gpu_type: Slurm's name of the GPU type, or None for any.
        gres: Name of the generic resource that the GPUs are: "gpu", or "shard".
        partition: Slurm partition, or None for the default one.
        names: Long options of sbatch, without dashes, and their names, such as ("qos", "long").
        warning_s: Seconds before the limit at which the session is warned; 0 for never.
        prologue: Shell lines of the site that run before the server.
        epilogue: Shell lines of the site that run after the server.
        extra_options: The site's further options of sbatch.
        is_rescue: Whether the session writes nothing into the home folder.
    """

    job_name: str
    comment: str
    resources: Resources
    walltime_s: int
    server_argv: tuple[str, ...]
    gpu_type: str | None = None
    gres: str = "gpu"
    partition: str | None = None
    names: tuple[tuple[str, str], ...] = ()
    warning_s: int = 0
    prologue: str = ""
    epilogue: str = ""
    extra_options: tuple[str, ...] = ()
    is_rescue: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job ready for sbatch.

    Attributes:
        argv: Options of sbatch, one word each; none holds a secret.
        script: The batch script.
        keeps_log: Whether its output goes to a log in the home folder.
    """

    argv: tuple[str, ...]
    script: str
    keeps_log: bool = True


def build_job(plan: JobPlan) -> Job:
    """Return the job of a session: one task on one node.

    Slurm never starts it a second time, since a requeued notebook would run without its user.

    Source:
        sbatch(1), Slurm 22.05 to 25.11.
    """
    resources = plan.resources
    argv = [
        f"--job-name={plan.job_name}",
        f"--comment={plan.comment}",
        "--nodes=1",
        "--ntasks=1",
        f"--cpus-per-task={resources.n_cores}",
        f"--mem={format_memory(resources.memory_mib)}",
        f"--time={format_walltime(plan.walltime_s)}",
        "--no-requeue",
        *_gpu_options(plan),
    ]
    if plan.warning_s:
        # B: only the shell of the batch script, which has become the server.
        argv.append(f"--signal=B:{WARNING_SIGNAL}@{plan.warning_s}")
    if plan.partition:
        argv.append(f"--partition={plan.partition}")
    argv.extend(f"--{option}={name}" for option, name in plan.names)
    return Job(
        argv=(*argv, *plan.extra_options),
        script=_render_script(plan),
        keeps_log=not plan.is_rescue,
    )


def parse_extra_options(text: str) -> tuple[str, ...]:
    """Return the options of sbatch in a site's setting, one word each.

    Args:
        text: Options as on a shell line, each in its long form with "=": "--constraint=v100".
    """
    options = tuple(shlex.split(text))
    for option in options:
        if not _OPTION.fullmatch(option):
            raise SettingsError(
                f"req_options holds {option!r}, which is not a long option of sbatch. "
                "Write every option as --name=value or --name."
            )
    return options


def _gpu_options(plan: JobPlan) -> Sequence[str]:
    n_gpus = plan.resources.n_gpus
    if n_gpus == 0:
        return ()
    counted = f"{plan.gpu_type}:{n_gpus}" if plan.gpu_type else str(n_gpus)
    if plan.gres == "gpu":
        # Not --gpus: more than one node has is refused at once this way.
        return (f"--gpus-per-node={counted}",)
    return (f"--gres={plan.gres}:{counted}",)


def _render_script(plan: JobPlan) -> str:
    server = shlex.join(plan.server_argv)
    lines = [
        "#!/bin/bash",
        f"export PORTAL_N_GPUS={plan.resources.n_gpus}",
        f"export PORTAL_WALLTIME_S={plan.walltime_s}",
    ]
    if plan.is_rescue:
        lines.extend(_RESCUE_LINES)
    if plan.prologue:
        lines.append(plan.prologue)
    if not plan.epilogue:
        # scancel signals the shell of the script only: the server takes its place.
        return "\n".join([*lines, f"exec {server}", ""])
    # The shell has to survive for the epilogue, so it passes every signal to the server. A signal
    # also ends `wait`, which is why it is repeated until the server has gone. The traps come
    # first: a signal to a server that has just started must not end the shell alone.
    return "\n".join(
        [
            *lines,
            "trap 'kill -TERM \"$!\" 2>/dev/null' TERM",
            f"trap 'kill -{WARNING_SIGNAL} \"$!\" 2>/dev/null' {WARNING_SIGNAL}",
            f"{server} &",
            "server=$!",
            'wait "$server"',
            "status=$?",
            'while kill -0 "$server" 2>/dev/null; do',
            '    wait "$server"',
            "    status=$?",
            "done",
            plan.epilogue,
            'exit "$status"',
            "",
        ]
    )
