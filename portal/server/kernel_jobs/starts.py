"""Starts the jobs of kernels: their shape, folder and environment."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

from jupyter_client.manager import AsyncKernelManager
from jupyter_server.serverapp import ServerApp

from portal.server.base.budget import job_name_of
from portal.server.base.hub_api import HubApi
from portal.server.base.open_notebooks import notebook_of
from portal.server.kernel_jobs.errors import KernelJobError
from portal.server.kernel_jobs.folder import make_folder
from portal.server.kernel_jobs.provisioner import SlurmProvisioner
from portal.server.kernel_jobs.request import GpuRequest, check_request, list_choices
from portal.server.kernel_jobs.slurm import JobRequest, KernelSlurm
from portal.settings.kernel_jobs import KernelJobSettings
from portal.settings.session_tables import SessionTables
from spawner.options.budget_messages import ChargedBudgets
from spawner.options.limits import Limits
from spawner.slurm.catalog import Catalog


class JobStarts:
    """Knows the site, the user and the session that these jobs are for.

    Args:
        hub: Tells places in the queue, and whether kernels get GPUs now.
    """

    def __init__(
        self,
        server: ServerApp,
        settings: SessionTables,
        slurm: KernelSlurm,
        limits: Limits,
        hub: HubApi,
    ) -> None:
        self._kernels = server.kernel_manager
        self._sessions = server.session_manager
        self._per_gpu = settings.resources.per_gpu
        self._slurm = slurm
        self._limits = limits
        self._hub = hub
        self._partition = settings.kernel_jobs.partition or job_name_of(
            os.environ, "SLURM_JOB_PARTITION"
        )

    async def choices(self, settings: KernelJobSettings) -> dict[str, Any]:
        """Return what the dialog offers; see `list_choices`."""
        catalog, charged = await self._look()
        return list_choices(
            catalog, self._limits, self._per_gpu, self._partition, settings, charged
        )

    def new_job(self, kernel: AsyncKernelManager) -> SlurmProvisioner:
        """Return one that has not started."""
        job = SlurmProvisioner(
            kernel_id=kernel.kernel_id, kernel_spec=kernel.kernel_spec, parent=kernel
        )
        job.slurm, job.place, job.folder = self._slurm, self._hub.read_place, make_folder()
        return job

    async def start(
        self,
        job: SlurmProvisioner,
        request: GpuRequest,
        n_held: int,
        tell: Callable[[str], None],
    ) -> None:
        """Start one, and wait until its kernel answers.

        Args:
            n_held: GPUs of the session and of its other kernels.
            tell: Takes why the job waits, whenever that changes.
        """
        refusal, (asked, nodes) = await asyncio.gather(
            self._hub.read_refusal(), self._checked(request, n_held, job.folder, job.command)
        )
        if refusal:
            raise KernelJobError(f"{refusal} Until that is over, kernels get no GPUs.")
        notebook = await notebook_of(self._sessions, job.kernel_id)
        folder = self._kernels.cwd_for_path(str(PurePosixPath(notebook).parent))
        environ = {"JPY_SESSION_NAME": notebook} if notebook else {}
        await job.start_job(asked, environ, folder, nodes, tell)

    async def forecast(self, request: GpuRequest, n_held: int) -> str:
        """Return when such a job would start, in words; raises as `start`."""
        asked, _ = await self._checked(request, n_held, Path.home(), ("true",))
        return await self._slurm.forecast(asked)

    async def _checked(
        self, request: GpuRequest, n_held: int, folder: Path, command: tuple[str, ...]
    ) -> tuple[JobRequest, dict[str, str]]:
        """Return the request, and the addresses of nodes by their names."""
        partition = self._partition
        catalog, charged = await self._look()
        shape = check_request(
            request,
            catalog,
            self._limits,
            self._per_gpu,
            partition,
            charged=charged,
            n_held=n_held,
        )

        asked = JobRequest(
            session_job_id=os.environ.get("SLURM_JOB_ID", ""),
            resources=shape.resources(request.n_gpus),
            gpu_type=request.gpu_type,
            walltime_s=request.walltime_s,
            folder=folder,
            command=command,
            partition=partition,
            account=job_name_of(os.environ, "SLURM_JOB_ACCOUNT"),
            qos=job_name_of(os.environ, "SLURM_JOB_QOS"),
        )
        nodes = (node for name in catalog.partitions for node in catalog.nodes(name))
        return asked, {node.name: node.address for node in nodes}

    async def _look(self) -> tuple[Catalog, ChargedBudgets]:
        return await asyncio.gather(
            self._slurm.read_catalog(), self._slurm.read_charged(self._partition)
        )
