"""A short job in a partition, as a user, started the way sessions are."""

import asyncio
import contextlib
import json
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from dsportal.slurm.states import Phase
from portal.hub.settings.loader import Settings
from portal.site.checks import node_probe
from portal.site.checks.node_probe import MARK
from spawner import __version__
from spawner.certificates import AUTHORITY_FILE
from spawner.client.slurm import Slurm
from spawner.slurm.job_script import Job
from spawner.slurm.jobs import JobKey, JobRecord

WALLTIME_MIN = 3
MEMORY_MIB = 512
# More than the program on the node listens and looks: LISTEN_S and LOOK_S.
END_TIMEOUT_S = 90.0
_POLL_S = 0.5
_CONNECT_S = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckJobResult:
    """The outcome of a trial job.

    Attributes:
        record: What Slurm reported last; None if it has forgotten the job.
        was_reached: The hub reached the port on the node.
        clock_s: Seconds by which the node's clock is ahead of this host's; None if unknown.
        found: What the job found on its node; None if it reported nothing.
        log: The end of its log.
        address: The node's address and port, as the hub tried it.
    """

    key: JobKey
    record: JobRecord | None = None
    was_reached: bool = False
    clock_s: float | None = None
    found: dict[str, Any] | None = None
    log: str = ""
    address: str = ""


def node_probe_input(settings: Settings, *, port: int, secret: str) -> dict[str, Any]:
    """Return the JSON object that `node_probe` reads.

    The job listens on `port` of its node, and answers there to `secret`.
    """
    hub = settings.hub
    authority = ""
    if hub.internal_tls:
        # Without it the node says that it cannot verify the hub's certificate.
        with contextlib.suppress(OSError):
            authority = (hub.certificates_dir / AUTHORITY_FILE).read_text(encoding="ascii")
    return {
        "hub_url": f"{hub.sessions_url}{hub.hub_prefix}api",
        "hub_authority": authority,
        "hub_address": hub.address,
        "port": port,
        "secret": secret,
        "version": __version__,
        "storage": {str(one.path): one.is_mount for one in settings.site_storage},
        "templates": str(settings.storage.templates),
        "needs_sshd": bool(settings.ssh.limit),
        "environments": {
            "server": str(settings.environments.server),
            "tensorboard": str(settings.environments.tensorboard),
        },
    }


def build_test_job(settings: Settings, *, name: str, partition: str, n_gpus: int) -> Job:
    """Return the trial job for a partition."""
    argv = [
        f"--job-name={name}",
        f"--partition={partition}",
        "--nodes=1",
        "--ntasks=1",
        "--cpus-per-task=1",
        f"--mem={MEMORY_MIB}M",
        f"--time={WALLTIME_MIN}",
        "--no-requeue",
        *([f"--gpus-per-node={n_gpus}"] if n_gpus else []),
    ]
    return Job(argv=tuple(argv), script=program_script(node_probe))


def program_source(program: ModuleType) -> str:
    """Return the source of a program that runs on a node, which needs only Python's library."""
    return Path(str(program.__file__)).read_text(encoding="utf-8")


def program_script(program: ModuleType) -> str:
    """Return the batch script that runs a program, which needs only Python's library."""
    # Without the server's environment the node's own Python can at least report that.
    lines = (
        "#!/bin/bash",
        'python="$PROBE_PYTHON"',
        '[ -x "$python" ] || python=/usr/bin/python3',
        # The quotes keep bash from replacing anything in the program.
        "exec \"$python\" -I - <<'END_OF_PROBE'",
        program_source(program),
        "END_OF_PROBE",
        "",
    )
    return "\n".join(lines)


def check_job_environment(settings: Settings, question: Mapping[str, Any]) -> dict[str, str]:
    """Return the variables of a job that runs such a program.

    `question` is the JSON object that the program reads.
    """
    return {
        # It holds the secret: a process's environment is closed to other users.
        "PROBE_QUESTION": json.dumps(question),
        "PROBE_PYTHON": str(settings.environments.server / "bin/python"),
    }


def new_name() -> str:
    """Return a name that no other job has, and no session could have."""
    return f"portal-check-{secrets.token_hex(4)}"


async def run_test_job(
    slurm: Slurm,
    settings: Settings,
    *,
    user: str,
    partition: str,
    n_gpus: int,
    wait_s: float,
) -> CheckJobResult:
    """Submit a trial job, connect to it on its node, and read what it found.

    It may wait in the queue for `wait_s`. It is not left behind, whatever happens.
    """
    # Another program may have the port, and other users can connect to it.
    secret = secrets.token_hex(16)
    # What firewalls let through for sessions is what has to be tried.
    ports = range(settings.resources.port_min, settings.resources.port_max + 1)
    port = secrets.choice(ports)

    async def meet(node: str) -> tuple[str, float | None]:
        catalog = await slurm.read_catalog()
        # No partition would be Slurm's default one.
        nodes = {one.name: one.address for one in catalog.nodes(partition)}
        host = nodes.get(node, node)
        return f"{host}:{port}", await _meet(host, port, secret)

    name = new_name()
    question = node_probe_input(settings, port=port, secret=secret)
    job = build_test_job(settings, name=name, partition=partition, n_gpus=n_gpus)
    return await run_check_job(
        slurm,
        job,
        check_job_environment(settings, question),
        name=name,
        user=user,
        wait_s=wait_s,
        look_s=END_TIMEOUT_S,
        meet=meet,
    )


async def run_check_job(
    slurm: Slurm,
    job: Job,
    variables: Mapping[str, str],
    *,
    name: str,
    user: str,
    wait_s: float,
    look_s: float,
    meet: Callable[[str], Awaitable[tuple[str, float | None]]] | None = None,
) -> CheckJobResult:
    """Submit a job of this name, wait for its end, and read what it found.

    It may wait in the queue for `wait_s`, and then run for `look_s`. It is not left behind,
    whatever happens. `meet` connects to it on its node, and returns address and clock.
    """
    submission = await slurm.submit(user, job, variables)
    key = JobKey(job_id=submission.job_id, user=user, name=name)
    try:
        record = await wait_while(slurm, key, {Phase.WAITING}, wait_s)
        if record is not None and record.state.phase is Phase.WAITING:
            return CheckJobResult(key=key, record=record)
        address, clock_s = "", None
        if meet is not None and record is not None and record.node:
            address, clock_s = await meet(record.node)
        # Slurm may have forgotten the job by then; the earlier record still names its node.
        record = await wait_while(slurm, key, {Phase.WAITING, Phase.RUNNING}, look_s) or record
        log = await slurm.read_log(key)
        return CheckJobResult(
            key=key,
            record=record,
            was_reached=clock_s is not None,
            clock_s=clock_s,
            found=parse_found(log),
            log=log,
            address=address,
        )
    finally:
        # If this fails, the job ends at its time limit.
        with contextlib.suppress(Exception):
            await slurm.cancel(key)


async def wait_while(
    slurm: Slurm, key: JobKey, while_in: set[Phase], timeout_s: float
) -> JobRecord | None:
    """Wait until a job is in none of some phases, or `timeout_s` is over.

    Returns:
        What Slurm reported last; None if it has forgotten the job.
    """
    give_up_at = time.monotonic() + timeout_s
    while True:
        records = [one for one in await slurm.find_jobs(name=key.name) if one.key == key]
        record = records[0] if records else None
        if record is None or record.state.phase not in while_in or time.monotonic() > give_up_at:
            return record
        await asyncio.sleep(_POLL_S)


async def _meet(host: str, port: int, secret: str) -> float | None:
    # The job's Python needs a moment to listen.
    give_up_at = time.monotonic() + node_probe.LISTEN_S
    while time.monotonic() < give_up_at:
        with contextlib.suppress(OSError, ValueError, KeyError, asyncio.TimeoutError):
            return await asyncio.wait_for(_ask_clock(host, port, secret), _CONNECT_S)
        await asyncio.sleep(_POLL_S)
    return None


async def _ask_clock(host: str, port: int, secret: str) -> float:
    reader, writer = await asyncio.open_connection(host, port)
    try:
        before = time.time()
        writer.write(secret.encode() + b"\n")
        answer = json.loads(await reader.readline())
        # The node read its clock about halfway between question and answer.
        return float(answer["time"]) - (before + time.time()) / 2
    finally:
        writer.close()


def parse_found(log: str) -> dict[str, Any] | None:
    """Return the JSON object in a trial job's log.

    Returns:
        None if the job did not get that far.
    """
    for line in reversed(log.splitlines()):
        if line.startswith(MARK):
            with contextlib.suppress(ValueError):
                found = json.loads(line.removeprefix(MARK))
                return found if isinstance(found, dict) else None
    return None
