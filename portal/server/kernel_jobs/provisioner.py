"""A kernel of Jupyter's in a Slurm job: its start, its signals and its end.

Source:
    jupyter_client 8.10, `KernelProvisionerBase` and `KernelManager`, which calls it.
"""

import asyncio
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import zmq
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.connect import KernelConnectionInfo, port_names
from jupyter_client.provisioning.provisioner_base import KernelProvisionerBase

from dsportal.diagnosis import log_tail
from dsportal.launch.sbatch import job_environment
from dsportal.slurm.states import Phase
from portal.server.kernel_jobs.ability import is_encrypted
from portal.server.kernel_jobs.errors import KernelJobError
from portal.server.kernel_jobs.handover import CONNECTION, Order, Progress, read_connection
from portal.server.kernel_jobs.letters import VARIABLE
from portal.server.kernel_jobs.slurm import JobRequest, JobStatus, KernelSlurm
from spawner.errors import SlurmError

_START_TIMEOUT_S = 120.0
_READY_TIMEOUT_S = 60
_ANSWER_S = 1.0
_LOOK_S = 0.1
_ASK_S = 0.3
_ASK_S_AT_LAST = 10.0


class SlurmProvisioner(KernelProvisionerBase):
    """The kernel of one job of Slurm's."""

    slurm: KernelSlurm
    place: Callable[[int], Awaitable[str]]
    folder: Path
    job_id: int | None = None
    is_over = False
    # Exit status of the kernel that ended last, negative for a signal.
    returncode: int | None = None
    # Whether it ended while the memory of the job was full.
    is_out_of_memory = False
    _n_started = 0
    _address = ""
    _n_gpus = 0

    @property
    def has_process(self) -> bool:
        """Whether there is a kernel for it."""
        return self.job_id is not None and self._n_started > 0

    @property
    def command(self) -> tuple[str, ...]:
        """What the job runs."""
        module = "portal.server.kernel_jobs.job"
        return (sys.executable, "-P", "-m", module, str(self.folder))

    async def start_job(
        self,
        request: JobRequest,
        environ: Mapping[str, str],
        working_dir: str,
        addresses: Mapping[str, str],
        tell: Callable[[str], None],
    ) -> None:
        """Start the kernel in a job of its own, and wait until it answers.

        Args:
            environ: Variables of this kernel alone.
            working_dir: The folder of its notebook.
            addresses: Of nodes, by their names; those that are missing are reached by name.
            tell: Takes why the job waits, whenever that changes.
        """
        prepared = await super().pre_launch(env={**os.environ, **environ})
        named = {name: value for name, value in environ.items() if name == "JPY_SESSION_NAME"}
        Order(
            argv=self._command(),
            environ={**job_environment(prepared["env"]), **named, VARIABLE: str(self.folder)},
            working_dir=working_dir,
            session_job_id=os.environ.get("SLURM_JOB_ID", ""),
            has_door=not is_encrypted(self.kernel_spec),
        ).write(self.folder)
        self._write_connection()
        self._n_gpus = request.resources.n_gpus
        self.job_id = await self.slurm.submit(request)
        node = await self._wait_for_node(tell)
        self._address = addresses.get(node, node)
        tell(f"The job has started on {node}. The kernel is starting.")
        async with self.client():
            pass

    async def status(self) -> JobStatus:
        """Return what Slurm says of the job."""
        if self.job_id is None:
            return JobStatus(phase=Phase.OVER)
        return await self.slurm.status(self.job_id, n_gpus=self._n_gpus)

    @asynccontextmanager
    async def client(self, *, is_heard: bool = False) -> AsyncIterator[AsyncKernelClient]:
        """Connect to the kernel that the job has started.

        Args:
            is_heard: Whether what the kernel publishes is wanted from the first message on, which
                takes some tenths of a second longer.
        """
        _, info = await self._connection()
        client = AsyncKernelClient(parent=None)
        client.load_connection_info(info)
        client.start_channels(iopub=is_heard, stdin=False)
        try:
            await self._wait_for_answer(client)
            if is_heard:
                await client.wait_for_ready(timeout=_READY_TIMEOUT_S)
            yield client
        finally:
            client.stop_channels()

    async def has_ended(self) -> bool:
        """Whether the kernel that the job started first has ended."""
        progress = await asyncio.to_thread(Progress.read, self.folder)
        return progress.is_over or progress.n_ends > 0

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        """Return the arguments of `launch_kernel`, which needs none."""
        return {"cmd": [], **kwargs}

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Connect to the kernel that the job has started, or starts again."""
        self._n_started, info = await self._connection()
        kernel = self.parent
        kernel.transport, kernel.ip = "tcp", info["ip"]
        for name in port_names:
            setattr(kernel, name, info[name])
        kernel.curve_publickey = info["curve_publickey"].encode()
        kernel.curve_secretkey = info["curve_secretkey"].encode()
        if is_encrypted(self.kernel_spec):
            # A signal takes the way through Slurm.
            kernel.kernel_spec.interrupt_mode = "message"
        self.connection_info = kernel.get_connection_info()
        return self.connection_info

    async def poll(self) -> int | None:
        """Return the exit status of the kernel, None while it may run.

        The end of the job is no end of the kernel here: `KernelJobs` sees it, and knows what to do.
        """
        if self.is_over or not self.has_process:
            return 1
        progress = await asyncio.to_thread(Progress.read, self.folder)
        if progress.n_ends < self._n_started:
            return None
        self.returncode, self.is_out_of_memory = progress.status, progress.is_out_of_memory
        return self.returncode

    async def wait(self) -> int | None:
        """Wait for the kernel's end, and return its exit status."""
        # On another node, a file of which tells it.
        while (status := await self.poll()) is None:  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_S)
        return status

    async def send_signal(self, signum: int) -> None:
        """Send nothing but an interrupt or the end."""
        if signum == signal.SIGINT and self.job_id is not None:
            await self.slurm.signal(self.job_id, "INT")
        elif signum in {signal.SIGTERM, signal.SIGKILL}:
            await self.kill()

    async def kill(self, restart: bool = False) -> None:
        """End the kernel; the job starts another one, or `cleanup` ends it."""
        # One that has ended has a successor already.
        if self.job_id is not None and await self.poll() is None:
            await self.slurm.signal(self.job_id, "USR2")

    async def terminate(self, restart: bool = False) -> None:
        """End the kernel."""
        await self.kill(restart)

    async def cleanup(self, restart: bool = False) -> None:
        """End the job, unless its kernel is only restarted."""
        if restart:
            return
        job_id, self.job_id = self.job_id, None
        # The job looks for it, and ends without it: also where Slurm does not answer now, and one
        # whose number is not known since its request was cancelled meanwhile.
        await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)
        if job_id is not None and not self.is_over:
            with suppress(SlurmError):
                await self.slurm.cancel(job_id)

    def _command(self) -> list[str]:
        kernel = self.parent
        own = os.path.realpath(kernel.connection_file)
        # Of the first start; a kernel that is moved has been started before.
        words = kernel.format_kernel_cmd()
        return [word.replace(own, str(self.folder / CONNECTION)) for word in words]

    def _write_connection(self) -> None:
        public, secret = zmq.curve_keypair()
        info = {
            "ip": "0.0.0.0",  # noqa: S104 - whoever has no key gets nothing
            "transport": "tcp",
            "key": self.parent.session.key.decode(),
            "signature_scheme": self.parent.session.signature_scheme,
            "curve_publickey": public.decode(),
            "curve_secretkey": secret.decode(),
            **dict.fromkeys(port_names, 0),
        }
        path = self.folder / CONNECTION
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(info, file)

    async def _wait_for_node(self, tell: Callable[[str], None]) -> str:
        pause_s = _ASK_S
        while True:
            status = await self.status()
            if status.phase is Phase.RUNNING and status.node:
                return status.node
            if status.phase is Phase.OVER:
                raise KernelJobError(f"{status.words} {await self._last_words()}".strip())
            place = ""
            if status.phase is Phase.WAITING and self.job_id is not None:
                place = await self.place(self.job_id)
            words = f"{status.words} {place}".strip()
            tell(words or "Slurm is not responding. Waiting for its answer.")
            if node := await self._node_within(pause_s):
                return node
            # Most start at once, and one that does not may wait for hours.
            pause_s = min(_ASK_S_AT_LAST, 1.3 * pause_s)

    async def _node_within(self, wait_s: float) -> str:
        """Return the node that the job itself names, which is sooner than Slurm's answer."""
        until_s = time.monotonic() + wait_s
        while time.monotonic() < until_s:
            progress = await asyncio.to_thread(Progress.read, self.folder)
            if progress.node and not progress.is_over:
                return progress.node
            await asyncio.sleep(_LOOK_S)
        return ""

    async def _connection(self) -> tuple[int, dict[str, Any]]:
        """Return the number of the next start of the kernel, and how it is reached."""
        give_up_s = time.monotonic() + _START_TIMEOUT_S
        while True:
            progress = await asyncio.to_thread(Progress.read, self.folder)
            if progress.is_over:
                raise KernelJobError(await self._not_started())
            if progress.n_starts > max(self._n_started, progress.n_ends):
                info = await asyncio.to_thread(read_connection, self.folder)
                if info.get("hb_port"):
                    return progress.n_starts, {**info, "ip": self._address}
            if time.monotonic() > give_up_s:
                raise KernelJobError(await self._not_started())
            await asyncio.sleep(_LOOK_S)

    async def _wait_for_answer(self, client: AsyncKernelClient) -> None:
        give_up_s = time.monotonic() + _READY_TIMEOUT_S
        while time.monotonic() < give_up_s:
            with suppress(TimeoutError):
                await client.kernel_info(reply=True, timeout=_ANSWER_S)
                return
            if await self.has_ended():
                raise KernelJobError(await self._not_started())
        raise KernelJobError(
            f"The kernel runs in job {self.job_id}, but does not answer at {self._address} within "
            f"{_READY_TIMEOUT_S} s. The nodes' firewalls have to let each other in. Tell the "
            "administrators."
        )

    async def _not_started(self) -> str:
        last = await self._last_words()
        return f"The kernel did not start in job {self.job_id}. {last or 'It printed nothing.'}"

    async def _last_words(self) -> str:
        try:
            log = await asyncio.to_thread((self.folder / "job.log").read_text, "utf-8", "replace")
        except OSError:
            log = ""
        return log_tail(log, 3)
