"""One rank of a timed all-reduce; a kernel's own Python with PyTorch runs this text.

The same lines go through NCCL on GPUs and through Gloo on cores. Rank 0 prints a line of JSON.

Source:
    nccl-tests, doc/PERFORMANCE.md: for an all-reduce of S bytes over n ranks in t seconds the bus
    bandwidth is S / t * 2 * (n - 1) / n.
"""

from __future__ import annotations

import json
import os
import time
from datetime import timedelta
from typing import Any

MARK = "dsportal-check: "
# The first ones also open the connections between the ranks.
N_WARM_UP = 3
BYTES_PER_NUMBER = 4
MOST_S = 5.0


def bus_gb_per_s(n_bytes: int, n_ranks: int, time_s: float) -> float:
    """Return the bus bandwidth of an all-reduce as nccl-tests defines it.

    Args:
        n_bytes: Length of the message of each rank.
        n_ranks: Ranks, 1 or more.
        time_s: What one all-reduce took, above 0.

    Returns:
        10^9 bytes a second.
    """
    return n_bytes / time_s * 2 * (n_ranks - 1) / n_ranks / 1e9


def main() -> None:
    """Join the other ranks, all-reduce, and print the result on rank 0."""
    import torch
    import torch.distributed as dist

    question = json.loads(os.environ["ALLREDUCE_QUESTION"])
    rank, n_ranks, backend = question["rank"], question["n_ranks"], question["backend"]
    device = torch.device("cpu")
    if backend == "nccl":
        device = torch.device("cuda", question["local_rank"])
        # NCCL takes the current device, which is GPU 0 for every rank unless it is set.
        torch.cuda.set_device(device)
    dist.init_process_group(
        backend,
        init_method=question["meeting_place"],
        rank=rank,
        world_size=n_ranks,
        timeout=timedelta(seconds=question["timeout_s"]),
    )
    n_bytes = question["n_bytes"]
    time_s = timed(torch, dist, device, n_bytes=n_bytes, n_times=question["n_times"])
    # The timed rounds add up zeros, which look right even if nothing was sent.
    total = torch.tensor(float(rank + 1), device=device)
    dist.all_reduce(total)
    is_right = total.item() == n_ranks * (n_ranks + 1) / 2
    if rank == 0:
        result = {
            "backend": backend,
            "n_ranks": n_ranks,
            "n_bytes": n_bytes,
            "bus_gb_per_s": bus_gb_per_s(n_bytes, n_ranks, time_s),
            "is_right": is_right,
        }
        print(MARK + json.dumps(result), flush=True)
    # No rank leaves while another still waits for a result.
    dist.barrier()
    dist.destroy_process_group()


def timed(torch: Any, dist: Any, device: Any, *, n_bytes: int, n_times: int) -> float:
    """Return what one all-reduce takes.

    Args:
        torch: PyTorch.
        dist: Its module for ranks, which have met.
        device: Device of the numbers.
        n_bytes: Length of the message of each rank, a multiple of 4.
        n_times: Upper limit of all-reduces timed together; fewer if they take long.

    Returns:
        Seconds.
    """

    def finish() -> None:
        if device.type == "cuda":
            # The call returns before the GPU has finished.
            torch.cuda.synchronize()

    def timed_s(n: int) -> float:
        finish()
        began_s = time.perf_counter()
        for _ in range(n):
            dist.all_reduce(numbers)
        finish()
        return time.perf_counter() - began_s

    # Zeros, since each round adds up the result of the last: they cannot grow out of range.
    numbers = torch.zeros(n_bytes // BYTES_PER_NUMBER, device=device)
    timed_s(N_WARM_UP)
    one_s = torch.tensor(timed_s(1), device=device)
    # All ranks have to agree on a number.
    dist.all_reduce(one_s, op=dist.ReduceOp.MAX)
    n_times = max(1, min(n_times, int(MOST_S / one_s.item())))
    return timed_s(n_times) / n_times


if __name__ == "__main__":
    main()
