"""`dsportal gpu` in the job of a kernel: the notebook server answers in the folder of the job."""

import asyncio
import os
from pathlib import Path
from typing import Any, cast

import pytest

from portal.server.kernel_jobs.asking import Letters
from portal.server.kernel_jobs.errors import KernelJobError
from portal.server.kernel_jobs.kernel_jobs import KernelJobs
from portal.server.kernel_jobs.letters import ask
from portal.server.kernel_jobs.request import GpuRequest
from portal.settings.kernel_jobs import KernelJobSettings
from tests.support.eventually import eventually_async

KERNEL = "k"


class Jobs:
    """A kernel with one GPU, which goes back at once."""

    n_gpus = 1

    def describe(self, kernel_id: str) -> dict[str, Any]:
        assert kernel_id == KERNEL
        return {"words": f"{self.n_gpus} GPU", "reason": "", "asked": ""}

    async def change(self, kernel_id: str, request: GpuRequest) -> str:
        assert kernel_id == KERNEL
        self.n_gpus = request.n_gpus
        return ""

    async def notebook_name(self, kernel_id: str) -> str:
        assert kernel_id == KERNEL
        return "a.ipynb"


async def told(folder: Path, gpus: str | None) -> dict[str, Any]:
    """Ask as a program of the kernel does, while the server looks now and then."""
    letters = Letters(cast("KernelJobs", Jobs()), KernelJobSettings())
    asked = asyncio.create_task(asyncio.to_thread(ask, folder, {"gpus": gpus, "hours": ""}))

    async def is_answered() -> bool:
        await letters.look(KERNEL, folder)
        return asked.done()

    await eventually_async(is_answered, 10)
    return await asked


@pytest.mark.parametrize(("gpus", "words"), [(None, "1 GPU"), ("0", "0 GPU")])
async def test_a_kernel_in_a_job_hears_what_it_has_and_what_becomes_of_its_request(
    tmp_path: Path, gpus: str | None, words: str
) -> None:
    answer = await told(tmp_path, gpus)

    assert (answer["notebook"], answer["words"]) == ("a.ipynb", words)
    assert os.listdir(tmp_path) == []


async def test_what_is_no_number_of_gpus_is_refused_there_in_words(tmp_path: Path) -> None:
    with pytest.raises(KernelJobError, match="You asked for 'two', which is not a number"):
        await told(tmp_path, "two")
