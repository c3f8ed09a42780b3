"""What the notebook server reads of the use of a kernel's GPUs."""

import shutil
from pathlib import Path
from typing import Any

from portal.server.base.cgroup import Allotment
from portal.server.base.gpus import GpuReading
from portal.server.base.resource_usage import Sample
from portal.server.kernel_jobs.meter import Use, measure


class Meter:
    """Two samples, 30 s apart, of a GPU at 60 % and one that does not tell; then the job ends."""

    interval_s = 0.0
    allotment = Allotment(n_cores=8, memory_mib=None)

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.n = 0
        self.seen: list[Use | None] = []

    async def take_sample(self) -> Any:
        self.seen.append(Use.read(self.folder))
        self.n += 1
        if self.n > 2:
            shutil.rmtree(self.folder)
        gpus = (GpuReading(name="a", use_percent=60.0), GpuReading(name="b"))
        return Sample(
            at_s=30.0 * self.n,
            gpus=gpus,
            cpu_percent=7.0,
            programs_percent=7.0,
            memory_mib=1024,
        )


async def test_the_use_is_written_until_the_folder_of_the_job_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    meter = Meter(folder)

    await measure(folder, meter)  # type: ignore[arg-type]

    use = Use(gpu_percents=(60.0, None), programs_percent=7.0)
    assert meter.seen == [
        None,
        Use(n_samples=1, gpu_percents=use.gpu_percents, programs_percent=7.0),
        Use(n_samples=2, gpu_percents=use.gpu_percents, programs_percent=7.0, used_gpu_s=18.0),
    ]
