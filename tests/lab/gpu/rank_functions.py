"""What ranks run; each starts with nothing but its environment."""

from __future__ import annotations

import os
from typing import Any

N_STEPS = 20
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


def train(device: str) -> dict[str, Any]:
    """Train a small network on all ranks with DistributedDataParallel for some steps.

    Returns:
        Backend, device, and whether the weights are the same on all ranks afterwards.
    """
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    place = torch.device("cuda", local_rank) if device == "cuda" else torch.device("cpu")
    if device == "cuda":
        torch.cuda.set_device(place)
    dist.init_process_group("nccl" if device == "cuda" else "gloo")
    # Other weights and data on each rank: DistributedDataParallel has to make the weights equal.
    torch.manual_seed(rank)
    with place:
        network = nn.Sequential(
            nn.Conv2d(3, 16, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)
        )
    model = DistributedDataParallel(network, device_ids=[local_rank] if device == "cuda" else None)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(N_STEPS):
        images, labels = torch.rand(8, 3, 32, 32), torch.randint(10, (8,))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images.to(place)), labels.to(place)).backward()
        optimizer.step()
    found = {
        "backend": dist.get_backend(),
        "device": torch.cuda.get_device_name() if device == "cuda" else "CPU",
        "are_weights_equal": _are_equal(network.parameters()),
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
