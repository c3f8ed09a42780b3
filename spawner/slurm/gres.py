"""GPUs as Slurm counts them: parses generic resources (gres) by type, total and used."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from spawner.errors import SlurmError

UNTYPED = ""
SHARD = "shard"

_ITEM = re.compile(r"(?P<words>[^,()]+)(?:\((?P<detail>[^()]*)\))?(?:,|$)")
_SHARES = re.compile(r"(?<![0-9])([0-9]{1,9})/[0-9]")
_COUNT = re.compile(r"(?P<number>[0-9]{1,18})(?P<unit>[KMGTP]?)", re.IGNORECASE)
_COUNT_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4, "P": 1024**5}


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuCount:
    """Numbers of GPUs by what they do; `total` is the sum of the others.

    Attributes:
        total: All that Slurm knows.
        used: Held by jobs.
        free: A job could have them now.
        planned: Idle, but kept by the scheduler for a waiting job of higher priority.
        down: Idle on nodes that take no new jobs: down, draining, reserved, in maintenance.
    """

    total: int = 0
    used: int = 0
    free: int = 0
    planned: int = 0
    down: int = 0

    def __add__(self, other: GpuCount) -> GpuCount:
        return GpuCount(
            total=self.total + other.total,
            used=self.used + other.used,
            free=self.free + other.free,
            planned=self.planned + other.planned,
            down=self.down + other.down,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _GresItem:
    """One item of a gres text: "gpu:v100:4(S:0-1)" has the detail "S:0-1"."""

    name: str
    type_name: str
    count: int
    detail: str

    @property
    def gpu_type(self) -> str:
        """Type in the portal's counts: all shards together are one type."""
        return SHARD if self.name == SHARD else self.type_name

    @property
    def n_shared_gpus(self) -> int:
        """GPUs with a shard in use: 2 for "5(4/4,1/4,0/4)", and 2 for "2(IDX:0-1)" of 22.05."""
        if self.detail.startswith("IDX:"):
            return self.count
        return sum(int(taken) > 0 for taken in _SHARES.findall(self.detail))


def parse_gres(text: str) -> dict[str, int]:
    """Return the GPUs of a node by type: `UNTYPED` for GPUs without one, `SHARD` for shards.

    Args:
        text: What sinfo prints as Gres: "gpu:v100:4(S:0-1)", "gpu:4", "gpu:1g.10gb:7",
            "gpu:v100:2,gpu:a100:2,shard:16", "(null)". Other resources are ignored.

    Source:
        slurm.conf(5), Gres; gres.html, "GPU Management", "MIG Management" and "Sharding",
        Slurm 22.05 to 25.11.
    """
    gpus: Counter[str] = Counter()
    for item in _parse_items(text):
        gpus[item.gpu_type] += item.count
    return dict(gpus)


# Thousands of nodes print few different texts.
@functools.lru_cache(maxsize=1024)
def count_gpus(
    gres: str, gres_used: str, *, idle_are: Literal["free", "planned", "down"]
) -> Mapping[str, GpuCount]:
    """Return the GPUs of a node by type, as in `parse_gres`, and how many are used.

    Slurm gives out a GPU whole or as shards. So a GPU with a shard in use counts as used, and
    so do all shards of a GPU that is given out whole. Slurm 22.05 does not say how many shards are
    in use but only on how many GPUs: all shards of those count as used there.

    Args:
        gres: What sinfo prints as Gres; see `parse_gres`.
        gres_used: What sinfo prints as GresUsed: "gpu:v100:2(IDX:0-1)", "gpu:(null):1(IDX:0)",
            "gpu:1g.10gb:2(IDX:0,3)", "gpu:v100:0(IDX:N/A),shard:v100:5(4/4,1/4)", "(null)".
        idle_are: What the GPUs count as that no job has.

    Source:
        gres.html, "Sharding", Slurm 22.05 to 25.11, and our captures of 22.05.8.
    """
    totals = parse_gres(gres)
    used = Counter(parse_gres(gres_used))
    n_gpus = sum(total for gpu_type, total in totals.items() if gpu_type != SHARD)
    if SHARD in totals and n_gpus:
        n_shards_per_gpu = totals[SHARD] // n_gpus
        n_whole = sum(count for gpu_type, count in used.items() if gpu_type != SHARD)
        used[SHARD] += n_whole * n_shards_per_gpu
        for item in _parse_items(gres_used):
            if item.name == SHARD:
                used[item.type_name] += item.n_shared_gpus
                if item.detail.startswith("IDX:"):
                    used[SHARD] += item.count * (n_shards_per_gpu - 1)
    counts = {}
    for gpu_type, total in totals.items():
        # The estimates for shards above may count more than there are.
        n_used = min(used[gpu_type], total)
        counts[gpu_type] = GpuCount(total=total, used=n_used, **{idle_are: total - n_used})
    return MappingProxyType(counts)


def _parse_items(text: str) -> Iterator[_GresItem]:
    """Yield the items that are GPUs or shards of GPUs."""
    for match in _ITEM.finditer(text.strip().replace("(null)", "")):
        name, *words = match["words"].removeprefix("gres/").split(":")
        if name not in {"gpu", SHARD}:
            continue
        count = _COUNT.fullmatch(words[-1]) if words else None
        if count is None:
            raise SlurmError(
                f"Slurm describes the GPUs of a node as {text[:80]!r}, where a number is missing. "
                "Ask the administrators to check Gres in slurm.conf."
            )
        # A flag in the place of a type.
        types = [word for word in words[:-1] if word != "no_consume"]
        yield _GresItem(
            name=name,
            type_name=types[0] if types else UNTYPED,
            count=int(count["number"]) * _COUNT_UNITS[count["unit"].upper()],
            detail=match["detail"] or "",
        )
