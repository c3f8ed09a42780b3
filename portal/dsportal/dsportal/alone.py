"""A training script in a batch job, without a notebook: `python -m dsportal.alone SCRIPT ...`.

`dsportal job new` writes the job file that starts it on the first node of the job.
"""

import os
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from dsportal.errors import LaunchError, SessionError
from dsportal.launch.layout import parse_layout
from dsportal.launch.mpi import check_mpi
from dsportal.notebook import batch
from dsportal.notebook.failure import explain_failure
from dsportal.task.call import call_name, make_call
from dsportal.task.folders import create_folder
from dsportal.task.plan import Plan


def main(argv: list[str]) -> int:
    """Run a script as one rank for each GPU of this job.

    Returns:
        0 if all ranks succeeded, otherwise srun's exit status, or 1 if nothing could be started.
    """
    try:
        call = make_call(argv[1], tuple(argv[2:]), {})
        # As `python SCRIPT` does, so that the script finds modules beside it.
        sys.path[0] = str(Path(argv[1]).absolute().parent)
        plan = plan_of_job(os.environ)
        # Before there is a folder: what can be refused leaves nothing behind.
        if plan.mpi:
            check_mpi()
        folder = create_folder(call_name(call), datetime.now())
        folder.write_plan(plan)
        folder.write_call(call)
        folder.write_job_id(int(os.environ["SLURM_JOB_ID"]))
    except LaunchError as error:
        print(f"dsportal: {error}", file=sys.stderr)
        return 1
    print(f"{plan.n_ranks} ranks on {plan.n_nodes} nodes. Logs: {folder.path}", flush=True)
    # Rank 0 alone, as in a cell; the logs have all ranks.
    status = batch.run_ranks(folder, shown=(0,))
    end = folder.read_end()
    # A run that was stopped or saved a checkpoint did not fail.
    if end is not None and end.status and not end.was_stopped and not end.is_saved:
        failure = explain_failure(folder, end, plan.n_ranks)
        print(f"dsportal: {failure}", file=sys.stderr)
    return status


def plan_of_job(environ: Mapping[str, str]) -> Plan:
    """Return the plan that follows from the job's own tasks: one rank for each.

    Source:
        sbatch(1), OUTPUT ENVIRONMENT VARIABLES, Slurm 22.05.
    """
    try:
        n_ranks, n_nodes = int(environ["SLURM_NTASKS"]), int(environ["SLURM_JOB_NUM_NODES"])
        # Slurm sets it only for a job that asked for --cpus-per-task.
        n_cores = int(environ.get("SLURM_CPUS_PER_TASK") or 1)
    except (KeyError, ValueError) as error:
        raise SessionError(
            "This is no batch job with tasks. Write one with 'dsportal job new' and give it to "
            "sbatch."
        ) from error
    shape = parse_layout(n_ranks, n_nodes, n_session_gpus=0)
    return Plan(
        n_ranks=n_ranks,
        cores_per_rank=n_cores,
        # The job file exports it, as it does PORTAL_MPI.
        simulated_gpus=environ.get("PORTAL_GPUS_SIMULATED") == "1",
        working_dir=str(Path.cwd()),
        module_paths=tuple(sys.path),
        # A script returns nothing.
        n_results=0,
        n_nodes=n_nodes,
        cores_per_node=n_cores * shape.ranks_per_node,
        in_own_job=True,
        mpi=environ.get("PORTAL_MPI") == "1",
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv))
