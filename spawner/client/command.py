"""Runs one command with a timeout and a clean environment."""

import asyncio
import contextlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass

from dsportal.slurm.no_answer import is_no_answer
from spawner.errors import SlurmError, SlurmUnavailableError

PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

# Everything else could change what the commands print: SQUEUE_FORMAT, SLURM_TIME_FORMAT, LANG …
_KEPT_VARIABLES = ("HOME", "USER", "LOGNAME", "SLURM_CONF", "TZ")
NO_ANSWER_TEXT = (
    "Slurm is not responding. Running sessions are not affected. Try again in a minute."
)


def keep_time_zone() -> None:
    """Let this process and its Slurm commands print times in the host's zone of this moment.

    Otherwise a change of the host's zone would move all times that Slurm prints, at once.
    """
    os.environ.setdefault("TZ", f":{os.path.realpath('/etc/localtime')}")
    time.tzset()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAddress:
    """Which cluster Slurm's commands ask.

    Attributes:
        name: For the programs of sudo, which find its slurm.conf themselves; empty for the first
            cluster, the one that Slurm's commands ask by themselves.
        slurm_conf: Its slurm.conf on this host; empty for the first cluster.
        title: What users call it; empty where there is only one.
    """

    name: str = ""
    slurm_conf: str = ""
    title: str = ""


FIRST_CLUSTER = ClusterAddress()


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """Exit status and output of a command that ended."""

    exit_code: int
    stdout: str
    stderr: str


async def run_command(
    argv: Sequence[str],
    *,
    timeout_s: float,
    path: str = PATH,
    stdin: str = "",
    slurm_conf: str = "",
) -> Completed:
    """Run a command to its end, without a shell; it is killed after `timeout_s`."""
    environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    environment |= {"SLURM_CONF": slurm_conf} if slurm_conf else {}
    # The C library translates error texts, and `is_no_answer` knows the English ones.
    environment |= {"PATH": path, "LC_ALL": "C"}
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        stderr = f"{argv[0]} gave no answer: {error.strerror}"
        raise SlurmUnavailableError(NO_ANSWER_TEXT, argv=argv, stderr=stderr) from error
    try:
        # Not read one after the other: a full pipe would stop the command.
        out, err = await asyncio.wait_for(process.communicate(stdin.encode()), timeout=timeout_s)
    except TimeoutError as error:
        stderr = f"{argv[0]} gave no answer in {timeout_s:g} s"
        raise SlurmUnavailableError(NO_ANSWER_TEXT, argv=argv, stderr=stderr) from error
    finally:
        # Also reached when the caller is cancelled.
        if process.returncode is None:
            await _end(process)
    return Completed(
        exit_code=process.returncode or 0,
        stdout=out.decode("utf-8", "replace"),
        stderr=err.decode("utf-8", "replace"),
    )


async def query(
    argv: Sequence[str], *, timeout_s: float, path: str = PATH, slurm_conf: str = ""
) -> Completed:
    """Run a Slurm command that changes nothing; without a `slurm_conf` Slurm finds its own."""
    done = await run_command(argv, timeout_s=timeout_s, path=path, slurm_conf=slurm_conf)
    # An exit status of 0 does not prove that slurmctld answered; stderr tells.
    if done.exit_code != 0 or is_no_answer(done.stderr):
        error = make_error(argv, done.exit_code, done.stderr)
        raise error
    return done


async def _end(process: asyncio.subprocess.Process) -> None:
    # The hub may not signal sudo, which runs as root; the launcher ends by itself.
    with contextlib.suppress(ProcessLookupError, PermissionError, asyncio.TimeoutError):
        process.kill()
        # Reads to the end and reaps it, but never keeps the caller: a blocked process does not die.
        await asyncio.wait_for(process.communicate(), timeout=1.0)


def make_error(argv: Sequence[str], exit_code: int | None, stderr: str) -> SlurmError:
    """Return the error for a failed command; `exit_code` is None if it did not end."""
    if exit_code is None or is_no_answer(stderr):
        return SlurmUnavailableError(NO_ANSWER_TEXT, argv=argv, exit_code=exit_code, stderr=stderr)
    # Slurm's commands print the cause last.
    lines = stderr.strip().splitlines() or [f"exit status {exit_code}"]
    return SlurmError(
        f"Slurm's command {argv[0]} failed: {lines[-1][:200]}. Tell the administrators.",
        argv=argv,
        exit_code=exit_code,
        stderr=stderr,
    )
