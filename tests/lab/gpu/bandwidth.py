"""Memory: copies on the card against the limit of its memory, and copies to and from the host."""

from __future__ import annotations

import torch

from tests.lab.gpu.bench import MIB, Bench
from tests.lab.gpu.memory_limit import read_memory_bus

# Nothing copies faster than the memory can; a larger share is a wrong limit or a wrong clock.
MOST_SHARE, LEAST_SHARE = 1.02, 0.4
_WHY_NO_LIMIT = "NVML does not say the memory's clock and the width of its bus"


def measure_bandwidth(bench: Bench) -> None:
    """On the card, then over the bus."""
    n_bytes = bench.sizes.copy_mib * MIB
    source = torch.randint(256, (n_bytes,), dtype=torch.uint8, device=bench.device)
    target = torch.zeros_like(source)
    seconds = bench.rounds(lambda: target.copy_(source))
    bench.found.check("A copy is the same", bool(torch.equal(source, target)))
    speeds = [2 * n_bytes / step_s / 1e9 for step_s in seconds]
    bench.found.figure(
        "memory_gb_per_s",
        f"copy of {bench.sizes.copy_mib} MiB from one place of the {bench.device_words}'s memory to"
        " another, bytes read and bytes written counted; 10^9 bytes/s",
        speeds,
    )
    bus = None
    if bench.is_gpu:
        bus = read_memory_bus(f"GPU-{torch.cuda.get_device_properties(0).uuid}")
    if bus is None:
        bench.found.untried("the memory's bandwidth against its limit", _WHY_NO_LIMIT)
    else:
        limit = bus.limit_gb_per_s
        share = max(speeds) / limit
        bench.found.fact("memory_limit_gb_per_s", round(limit, 1))
        bench.found.figure(
            "memory_share_of_limit_percent",
            f"the same in percent of {limit:.0f} GB/s: highest memory clock x bus width x 2",
            [100 * speed / limit for speed in speeds],
        )
        bench.found.check(
            "The memory's bandwidth is below its limit, and not far below",
            LEAST_SHARE < share < MOST_SHARE,
            f"{share:.0%}",
        )
    _measure_bus(bench, target)


def _measure_bus(bench: Bench, on_card: torch.Tensor) -> None:
    if not bench.is_gpu:
        bench.found.untried("copies between host and GPU", "there is no GPU")
        return
    n_bytes = on_card.numel()
    for is_pinned in (False, True):
        on_host = torch.zeros(n_bytes, dtype=torch.uint8, pin_memory=is_pinned)
        kind = "pinned" if is_pinned else "pageable"
        ways = {
            f"host_to_gpu_{kind}_gb_per_s": lambda h=on_host: on_card.copy_(h, non_blocking=True),
            f"gpu_to_host_{kind}_gb_per_s": lambda h=on_host: h.copy_(on_card, non_blocking=True),
        }
        for name, copy in ways.items():
            bench.found.figure(
                name,
                f"copy of {bench.sizes.copy_mib} MiB of {kind} memory of the host; 10^9 bytes/s",
                [n_bytes / step_s / 1e9 for step_s in bench.rounds(copy)],
            )
