"""Summaries as jobstats leaves them in a job's AdminComment."""

import base64
import gzip
import json
from collections.abc import Sequence
from typing import Any


def summary(percents: Sequence[float], *, memory_gib: float = 0.0, **changes: Any) -> str:
    """Return that of a job with one GPU a node, used by these percents on average."""
    nodes = {
        f"node{n}": {
            "cpus": 8,
            "total_memory": 51539607552,
            "used_memory": 1073741824,
            "total_time": 120.5,
            "gpu_total_memory": {"0": 85899345920},
            "gpu_used_memory": {"0": int(memory_gib * 2**30)},
            "gpu_utilization": {"0": percent},
        }
        for n, percent in enumerate(percents)
    }
    return pack({"nodes": nodes, "total_time": 7200, "gpus": len(percents), **changes})


def pack(content: object) -> str:
    """Return a summary with any content."""
    return pack_text(json.dumps(content))


def pack_text(text: str) -> str:
    """Return a summary of any text."""
    return "JS1:" + base64.b64encode(gzip.compress(text.encode())).decode()
