"""What ranks run; each starts with nothing but its environment."""

from __future__ import annotations

import os
import time
from typing import Any

NCCL_MIB = 256
RANK_VARIABLES = (
    *("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "CUDA_VISIBLE_DEVICES"),
    *("OMP_NUM_THREADS", "GLOO_SOCKET_IFNAME", "HOROVOD_RANK", "TF_FORCE_GPU_ALLOW_GROWTH"),
)


def describe_rank() -> dict[str, Any]:
    """What a rank is told, and what PyTorch makes of it."""
    told = {name: os.environ.get(name) for name in RANK_VARIABLES}
    if not told["CUDA_VISIBLE_DEVICES"]:
        return {**told, "n_seen": 0, "gpu": None}
    import torch

    own = torch.cuda.get_device_properties(int(os.environ["LOCAL_RANK"]))
    return {**told, "n_seen": torch.cuda.device_count(), "gpu": str(own.uuid)}


def train(device: str, batch: int, side: int, width: float, seconds: float) -> dict[str, Any]:
    """Train ResNet50 on all ranks with DistributedDataParallel for about so many seconds.

    Returns:
        Backend, device, seconds of a step in each of three rounds, whether the weights are the
        same on all ranks afterwards, and the bus bandwidth of an all-reduce.
    """
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    from tests.lab.gpu.models import N_CLASSES, resnet50

    rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    place = torch.device("cuda", local_rank) if device == "cuda" else torch.device("cpu")
    if device == "cuda":
        torch.cuda.set_device(place)
    dist.init_process_group("nccl" if device == "cuda" else "gloo")
    # Other weights on each rank: DistributedDataParallel has to make them equal.
    torch.manual_seed(rank)
    with place:
        network = resnet50(width).to(memory_format=torch.channels_last)
    model = DistributedDataParallel(network, device_ids=[local_rank] if device == "cuda" else None)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    data = torch.rand(batch, 3, side, side, device=place)
    data = data.to(memory_format=torch.channels_last)
    labels = torch.randint(N_CLASSES, (batch,), device=place)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(data).float(), labels)
        loss.backward()
        optimizer.step()

    def slurm_time_s(n_steps: int) -> float:
        _wait(device)
        began_s = time.perf_counter()
        for _ in range(n_steps):
            step()
        _wait(device)
        return (time.perf_counter() - began_s) / n_steps

    slurm_time_s(2)
    # All ranks have to take the same number of steps.
    first_s = torch.tensor(slurm_time_s(1), device=place)
    dist.all_reduce(first_s, dist.ReduceOp.MAX)
    n_steps = max(1, round(seconds / 3 / first_s.item()))
    rounds = [slurm_time_s(n_steps) for _ in range(3)]
    found = {
        "backend": dist.get_backend(),
        "device": torch.cuda.get_device_name() if device == "cuda" else "CPU",
        "seconds": rounds,
        "are_weights_equal": _are_equal(network.parameters()),
        "bus_gb_per_s": _bus_gb_per_s(place) if dist.get_world_size() > 1 else None,
    }
    dist.destroy_process_group()
    return found


def _are_equal(parameters: Any) -> bool:
    import torch
    import torch.distributed as dist

    with torch.no_grad():
        own = torch.cat([values.flatten() for values in parameters])
    least, most = own.clone(), own.clone()
    dist.all_reduce(least, dist.ReduceOp.MIN)
    dist.all_reduce(most, dist.ReduceOp.MAX)
    return bool(torch.equal(least, most))


def _bus_gb_per_s(place: Any) -> float:
    """Return what the slowest link moves in an all-reduce, as nccl-tests count it."""
    import torch
    import torch.distributed as dist

    n_mib = NCCL_MIB if place.type == "cuda" else 1
    values = torch.ones(n_mib << 18, device=place)
    n_times = 10
    for _ in range(2):
        dist.all_reduce(values)
    _wait(place.type)
    began_s = time.perf_counter()
    for _ in range(n_times):
        dist.all_reduce(values)
    _wait(place.type)
    seconds = (time.perf_counter() - began_s) / n_times
    n = dist.get_world_size()
    return values.numel() * 4 / seconds / 1e9 * 2 * (n - 1) / n


def _wait(device: str) -> None:
    import torch

    if device == "cuda":
        torch.cuda.synchronize()
