"""Bandwidth and latency between the GPUs of a session or of several nodes.

from dsportal import p2p

p2p()                     # the GPUs of the session
p2p(gpus=8, nodes=2)      # across nodes, as a job of its own

The bandwidth in GB/s is that of messages of 64 MiB, the latency in microseconds that of messages of
4 bytes, both through NCCL, which the gradients of a training take too. If GPUs are simulated,
messages go through Gloo between CPUs, the large ones of 1 MiB, and the tables say so.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

from dsportal.errors import LaunchError
from dsportal.launch.session import read_session
from dsportal.notebook.runner import run

N_BYTES = 64 << 20
# Processes of simulated GPUs share a few cores.
N_BYTES_SIMULATED = 1 << 20
N_MESSAGES = 10
N_ROUND_TRIPS = 100
_SIMULATED = (
    "The GPUs of this site are simulated. These figures are of messages of 1 MiB and of 4 bytes\n"
    "through Gloo, between CPUs, and say nothing about GPUs."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """The path from one GPU to another.

    Attributes:
        gb_per_s: Bandwidth of large messages in 10^9 bytes a second.
        latency_us: One-way time of a small message in microseconds.
    """

    gb_per_s: float
    latency_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """One GPU, and the paths to it.

    Attributes:
        gpu: Model of the GPU, as CUDA names it.
        links: Path from each other rank, by the rank's number.
    """

    node: str
    gpu: str
    links: Mapping[int, Link]


class Links:
    """The paths between all GPUs; a notebook shows them as tables.

    Args:
        ends: Each GPU, in the order of the ranks.
    """

    def __init__(self, ends: Sequence[End], *, simulated_gpus: bool = False) -> None:
        self.ends = tuple(ends)
        self.simulated_gpus = simulated_gpus

    def __repr__(self) -> str:
        gpus = [f"{rank:4}  {end.node}  {end.gpu}" for rank, end in enumerate(self.ends)]
        bandwidth = self._table("GB/s", lambda link: f"{link.gb_per_s:.1f}")
        latency = self._table("us", lambda link: f"{link.latency_us:.1f}")
        note = [_SIMULATED, ""] if self.simulated_gpus else []
        title = "Simulated GPU" if self.simulated_gpus else "GPU"
        return "\n".join([*note, title, *gpus, "", *bandwidth, "", *latency])

    def _table(self, unit: str, figure: Callable[[Link], str]) -> list[str]:
        n_gpus = len(self.ends)
        rows = [f"{f'{unit}, from':10}" + "".join(f"{f'to {rank}':>9}" for rank in range(n_gpus))]
        for source in range(n_gpus):
            cells = [figure(end.links[source]) if source in end.links else "-" for end in self.ends]
            rows.append(f"{source:10}" + "".join(f"{cell:>9}" for cell in cells))
        return rows


def p2p(gpus: int | None = None, nodes: int = 1) -> Links:
    """Measure bandwidth and latency from each GPU to each other one.

    Args:
        gpus: GPUs on all nodes together, 2 or more; None for as many a node as the session has.

    Returns:
        The figures; a notebook shows them as tables. If the GPUs are simulated, they are of Gloo
        between CPUs, and the tables say so.

    Raises:
        LaunchError: If there are fewer than two GPUs or the kernel has no PyTorch.
    """
    session = read_session(os.environ)
    n_gpus = session.n_gpus * nodes if gpus is None else gpus
    if n_gpus < 2:
        raise LaunchError(
            f"p2p measures between GPUs, and there are {n_gpus}. Say how many: p2p(gpus=2)."
        )
    if find_spec("torch") is None:
        raise LaunchError("p2p measures with PyTorch. Choose the kernel PyTorch for this notebook.")
    how = ("cpu", N_BYTES_SIMULATED) if session.simulated_gpus else ("cuda", N_BYTES)
    ends: list[End] = run(measure_links, *how, gpus=n_gpus, nodes=nodes, results="all")
    return Links(ends, simulated_gpus=session.simulated_gpus)


def measure_links(device: Literal["cuda", "cpu"], n_bytes: int = N_BYTES) -> End:
    """Measure the paths to the GPU of this rank; runs on every rank.

    Args:
        device: "cuda" for the GPUs; "cpu" sends the same messages through Gloo.
        n_bytes: Length of a large message, a multiple of 4.
    """
    import torch
    import torch.distributed as dist

    node, local_rank = os.environ["HOROVOD_HOSTNAME"], int(os.environ["LOCAL_RANK"])
    if device == "cuda":
        if not torch.cuda.is_available():
            raise LaunchError(
                f"PyTorch sees no GPU on node {node}. Tell the administrators: the environment "
                "needs a PyTorch for CUDA that fits the driver."
            )
        torch.cuda.set_device(local_rank)
    name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    dist.init_process_group("cpu:gloo,cuda:nccl" if device == "cuda" else "gloo")
    # Over Gloo: a barrier over NCCL would use the paths that are measured.
    gate = dist.new_group(backend="gloo")
    links = {}
    for source in range(dist.get_world_size()):
        for target in range(dist.get_world_size()):
            # One pair at a time, so that pairs do not share a path.
            dist.barrier(gate)
            if source != target and dist.get_rank() in {source, target}:
                link = _measure(source, target, device, n_bytes)
                if dist.get_rank() == target:
                    links[source] = link
    dist.destroy_process_group()
    return End(node=node, gpu=name, links=links)


def _measure(source: int, target: int, device: str, n_bytes: int) -> Link:
    import torch
    import torch.distributed as dist

    is_source = dist.get_rank() == source
    large = torch.zeros(n_bytes // 4, device=device)
    small = torch.zeros(1, device=device)

    def one_way(message: Any) -> None:
        if is_source:
            dist.send(message, target)
        else:
            dist.recv(message, source)

    def round_trip() -> None:
        one_way(small)
        if is_source:
            dist.recv(small, target)
        else:
            dist.send(small, source)

    large_s = _seconds(lambda: one_way(large), N_MESSAGES, device)
    # Half a round trip, since the clocks of two nodes differ.
    small_s = _seconds(round_trip, N_ROUND_TRIPS, device) / 2
    return Link(gb_per_s=large.numel() * 4 / large_s / 1e9, latency_us=small_s * 1e6)


def _seconds(send: Callable[[], None], n_times: int, device: str) -> float:
    import torch

    def wait() -> None:
        if device == "cuda":
            torch.cuda.synchronize()

    # The first messages set the connection up.
    send()
    send()
    wait()
    began_s = time.perf_counter()
    for _ in range(n_times):
        send()
    wait()
    return (time.perf_counter() - began_s) / n_times
