"""Shape of a run: how many ranks on how many nodes, and whether the session can hold them."""

from dataclasses import dataclass
from typing import TypeGuard

from dsportal.amounts import count
from dsportal.errors import SessionError
from dsportal.launch.session import SessionAllocation

MAX_NODES = 1024
MAX_GPUS_PER_NODE = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Ranks and nodes of a run.

    Attributes:
        n_ranks: One rank for each GPU.
        n_nodes: Each node has the same number of ranks.
    """

    n_ranks: int
    n_nodes: int = 1

    @property
    def ranks_per_node(self) -> int:
        """Ranks on each node."""
        return self.n_ranks // self.n_nodes

    @property
    def words(self) -> str:
        """Such as "8 GPUs on 2 nodes"."""
        return f"{count(self.n_ranks, 'GPU')} on {count(self.n_nodes, 'node')}"


def parse_layout(gpus: object, nodes: object, n_session_gpus: int) -> Layout:
    """Check the numbers that a user passed to `run`.

    Args:
        gpus: GPUs on all nodes together; None for as many a node as the session has.
        nodes: Nodes, 1 or more.
    """
    if not is_count(nodes) or not 1 <= nodes <= MAX_NODES:
        raise SessionError(f"You asked for nodes={nodes!r}. Give a number from 1 to {MAX_NODES}.")
    if gpus is None:
        if not n_session_gpus:
            raise SessionError(
                "A run has one rank for each GPU, and this session has no GPU. Say how many: "
                "run(train, gpus=2) starts a job of its own."
            )
        gpus = n_session_gpus * nodes
    limit = MAX_GPUS_PER_NODE * nodes
    if not is_count(gpus) or not 1 <= gpus <= limit:
        raise SessionError(f"You asked for gpus={gpus!r}. Give a number from 1 to {limit}.")
    if gpus % nodes:
        raise SessionError(
            f"You asked for gpus={gpus}, nodes={nodes}, but every node has the same number of "
            f"ranks. Choose {_choices(gpus, nodes)}."
        )
    return Layout(n_ranks=gpus, n_nodes=nodes)


def _choices(gpus: int, nodes: int) -> str:
    """Return the nearest shapes that can be divided: other GPUs first, then fewer nodes.

    More nodes may be more than the partition has.
    """
    fewer = gpus // nodes * nodes
    totals = [f"gpus={n}" for n in (fewer, fewer + nodes) if n]
    divisors = [n for n in range(1, gpus + 1) if gpus % n == 0 and gpus // n <= MAX_GPUS_PER_NODE]
    below = [n for n in divisors if n < nodes][-1:]
    others = [f"gpus={gpus}, nodes={n} ({gpus // n} on each)" for n in below]
    return ", or ".join([f"{' or '.join(totals)} on nodes={nodes}", *others])


def explain_too_many(
    shape: Layout, most_per_node: int, most_nodes: int | None = None
) -> str | None:
    """Explain that no node has enough GPUs for a shape, and what to ask for instead.

    Args:
        most_per_node: GPUs of the node with the most; 0 if not known.
        most_nodes: Nodes that one job gets; None if not known.

    Returns:
        Sentences for the user; None if a node has enough, or it is not known.
    """
    if not 0 < most_per_node < shape.ranks_per_node:
        return None
    # Rounded up, twice: enough nodes, then as many GPUs as they share evenly.
    n_nodes = -(-shape.n_ranks // most_per_node)
    n_gpus = -(-shape.n_ranks // n_nodes) * n_nodes
    if most_nodes is not None and n_nodes > most_nodes:
        n_nodes, n_gpus = most_nodes, most_nodes * most_per_node
    fewer = most_per_node * shape.n_nodes
    return (
        f"You asked for {shape.words}, but no node has more than {most_per_node}. "
        f"Choose gpus={fewer}{'' if shape.n_nodes == 1 else f', nodes={shape.n_nodes}'} or fewer"
        f"{f', or gpus={n_gpus}, nodes={n_nodes}' if n_nodes > shape.n_nodes else ''}."
    )


def fits_session(shape: Layout, session: SessionAllocation) -> bool:
    """Return whether the ranks can be a step of the session's own job."""
    return shape.n_nodes <= session.n_nodes and shape.ranks_per_node <= session.n_gpus


def is_count(value: object) -> TypeGuard[int]:
    """Return whether `value` is an int and not a bool."""
    return isinstance(value, int) and not isinstance(value, bool)
