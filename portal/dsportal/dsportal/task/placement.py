"""Place of a rank: its number in the run, on its node, and across nodes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dsportal.errors import StepError

_TASKS = re.compile(r"(\d+)(?:\(x(\d+)\))?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The place of one rank, counted as Horovod counts.

    Attributes:
        rank: Number in the run, 0 to size - 1.
        local_rank: Number on its node, from 0.
        cross_rank: Index of this node among those that have a rank `local_rank`.
        cross_size: Number of nodes that have a rank `local_rank`.
    """

    rank: int
    size: int
    local_rank: int
    local_size: int
    cross_rank: int
    cross_size: int
    node: str


def parse_tasks_per_node(text: str) -> tuple[int, ...]:
    """Return the number of tasks on each node of a step, in Slurm's order.

    SLURM_STEP_TASKS_PER_NODE has for example "2(x3),1", which means (2, 2, 2, 1).

    Source:
        srun(1), OUTPUT ENVIRONMENT VARIABLES, Slurm 22.05.
    """
    counts: list[int] = []
    for part in text.split(","):
        match = _TASKS.fullmatch(part)
        if match is None:
            raise StepError(
                f"Slurm described the tasks of this step as {text!r}, which is not understood. "
                "Tell the administrators, with the version of Slurm."
            )
        n_tasks, n_nodes = match.groups()
        counts += [int(n_tasks)] * int(n_nodes or 1)
    return tuple(counts)


def read_placement(environ: Mapping[str, str]) -> Placement:
    """Return the place of the rank that an environment, made by srun, belongs to.

    Source:
        srun(1), OUTPUT ENVIRONMENT VARIABLES, Slurm 22.05; Horovod 0.28.1, concepts of local and
        cross rank.
    """
    try:
        rank = int(environ["SLURM_PROCID"])
        local_rank = int(environ["SLURM_LOCALID"])
        node_index = int(environ["SLURM_NODEID"])
        size = int(environ["SLURM_STEP_NUM_TASKS"])
        counts = parse_tasks_per_node(environ["SLURM_STEP_TASKS_PER_NODE"])
        node = environ.get("SLURMD_NODENAME") or f"node {node_index}"
        local_size = counts[node_index]
    except (KeyError, ValueError, IndexError) as error:
        raise StepError(
            f"This process is not a rank that Slurm started ({error!r}). Start ranks with "
            "dsportal.run from a notebook."
        ) from error
    return Placement(
        rank=rank,
        size=size,
        local_rank=local_rank,
        local_size=local_size,
        cross_rank=sum(n_tasks > local_rank for n_tasks in counts[:node_index]),
        cross_size=sum(n_tasks > local_rank for n_tasks in counts),
        node=node,
    )
