"""MPI for a run: srun's option, and whether environment and Slurm can run Horovod over it.

The variables of ranks that meet over MPI are in `dsportal.task.environment`.
"""

from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path

from dsportal.errors import LaunchError, StepError
from dsportal.launch import commands

PLUGIN = "pmix"
# The name of a function that only a Horovod built with MPI calls.
_STARTS_MPI = b"MPI_Init_thread\0"
_WITHOUT = "Leave mpi out, which uses Gloo, or ask the administrators for"


def mpi_option(*, mpi: bool) -> str:
    """Return srun's option for ranks that meet over MPI, or over something else.

    Source:
        srun(1), --mpi, Slurm 22.05. Open MPI 4.1 aborts under its plugins pmi2 and none.
    """
    return f"--mpi={PLUGIN if mpi else 'none'}"


def check_mpi() -> None:
    """Refuse a run over MPI that could not start from this Python, on this node."""
    check_horovod(find_horovod())
    check_slurm(commands.mpi_plugins())


def find_horovod() -> Path | None:
    """Return the folder of this environment's Horovod, or None, without importing it."""
    spec = find_spec("horovod")
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(places[0]) if places else None


def is_built_with_mpi(horovod_dir: Path) -> bool:
    """Return whether a Horovod was compiled with MPI for at least one framework.

    Source:
        Horovod 0.28.1, mpi_context.cc: a build with MPI starts it by MPI_Init_thread, so the
        library's symbol table has that name. Asking Horovod itself would import TensorFlow.
    """
    libraries = horovod_dir.glob("*/mpi_lib*.so")
    # One library for each framework that Horovod was built for.
    return any(_STARTS_MPI in library.read_bytes() for library in libraries)


def check_horovod(horovod_dir: Path | None) -> None:
    """Refuse an environment whose Horovod has no MPI."""
    if horovod_dir is None:
        raise LaunchError(
            "You asked for Horovod over MPI, and this environment has no Horovod. Leave mpi out, "
            "or choose the kernel that has Horovod."
        )
    if not is_built_with_mpi(horovod_dir):
        raise LaunchError(
            "You asked for Horovod over MPI, and the Horovod of this environment is built without "
            f"MPI. {_WITHOUT} one that has it: 'deploy/environments/build --with-mpi horovod'."
        )


def check_slurm(plugins: Collection[str] | None) -> None:
    """Refuse a Slurm that cannot start ranks over MPI.

    Args:
        plugins: Slurm's MPI plugins; None if it did not list them: then the step itself will tell.
    """
    # None: srun did not say which it has, so let it try.
    if plugins is None or PLUGIN in plugins:
        return
    raise StepError(
        f"You asked for Horovod over MPI, and Slurm has no plugin '{PLUGIN}' here: "
        f"'srun --mpi=list' names {', '.join(sorted(plugins)) or 'none'}. {_WITHOUT} mpi_pmix.so "
        "on the nodes."
    )
