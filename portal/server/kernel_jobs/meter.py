"""Measures the use of a kernel's GPUs, beside the kernel in its job.

    python -m portal.server.kernel_jobs.meter FOLDER

It writes `Use` to FOLDER, for the notebook server on another node, until the folder is gone.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from portal.server.base.cgroup import find_allotment, find_source
from portal.server.base.gpus import Gpus
from portal.server.base.resource_usage import Meter
from portal.server.base.total_use import TotalUse
from portal.server.kernel_jobs.handover import write_json
from portal.settings.session_tables import read_settings

USE = "use.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """How much a kernel uses what it has.

    Attributes:
        n_samples: Samples so far: a number that stays the same tells that nothing is measured.
        gpu_percents: Use of each GPU; None if not known.
        programs_percent: CPU of the kernel and what it started, in percent of one core; None if
            not known.
        used_gpu_s: Seconds times GPUs, each by its use, so far; None if no GPU says its use.
        mean_gpu_percent: Use of all GPUs on average, 0 to 100; None if too little was measured.
        words: What was used so far, in sentences; "" if too little was measured.
    """

    n_samples: int = 0
    gpu_percents: tuple[float | None, ...] = ()
    programs_percent: float | None = None
    used_gpu_s: float | None = None
    mean_gpu_percent: float | None = None
    words: str = ""

    @classmethod
    def read(cls, folder: Path) -> Use | None:
        """Read that of a job's folder; None if it cannot be read, as before the first sample."""
        try:
            told = json.loads((folder / USE).read_text("utf-8"))
            return cls(**{**told, "gpu_percents": tuple(told["gpu_percents"])})
        except (OSError, ValueError, TypeError, KeyError):
            return None


async def measure(folder: Path, meter: Meter) -> None:
    """Write the use of this job until its folder is gone."""
    use, last_s, total = Use(), None, TotalUse()
    while True:
        sample = await meter.take_sample()
        total = total.plus(sample, meter.allotment)
        known = [gpu.use_percent for gpu in sample.gpus or () if gpu.use_percent is not None]
        used_gpu_s = use.used_gpu_s
        if known and last_s is not None:
            passed_s = max(0.0, sample.at_s - last_s)
            used_gpu_s = (used_gpu_s or 0.0) + sum(known) / 100 * passed_s
        use = Use(
            n_samples=use.n_samples + 1,
            gpu_percents=tuple(gpu.use_percent for gpu in sample.gpus or ()),
            programs_percent=sample.programs_percent,
            used_gpu_s=used_gpu_s,
            mean_gpu_percent=total.mean_gpu_percent,
            words=total.words(meter.allotment),
        )
        last_s = sample.at_s
        try:
            write_json(folder / USE, asdict(use))
        except FileNotFoundError:
            return
        await asyncio.sleep(meter.interval_s)


def main() -> None:
    """Measure the job of a folder, unless the site measures no use."""
    interval_s = read_settings(os.environ).meter.interval_s
    if interval_s <= 0:
        return
    source = find_source(os.environ)
    allotment = find_allotment(os.environ, source)
    meter = Meter(source, Gpus(os.environ), allotment, interval_s=interval_s)
    asyncio.run(measure(Path(sys.argv[1]), meter))


if __name__ == "__main__":
    main()
