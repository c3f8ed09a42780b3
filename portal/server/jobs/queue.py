"""Runs squeue, sacct, sbatch, scontrol and scancel on the node as the user."""

import asyncio
import os
import pwd
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dsportal.diagnosis import Situation, explain_rejection
from dsportal.diagnosis.messages import JOB
from dsportal.slurm.errors import OptionsError, PortalError
from dsportal.slurm.listing import NO_SUCH_JOB, PARSABLE_JOB_ID, new_nonce
from dsportal.slurm.units import format_walltime
from dsportal.slurm.used import USED, parse_uses
from portal.server.base.commands import VARIABLE as COMMANDS
from portal.server.jobs.ended import EndedJobs
from portal.server.jobs.job import Action, SlurmJob
from portal.server.jobs.jobs import QUEUED, is_job_id, parse_lists
from portal.server.jobs.output_file import Output, read_piece
from portal.server.jobs.outputs import (
    SUBMITTED,
    existing_file,
    likely_paths,
    parse_output_path,
    submitted_scripts,
)
from portal.server.jobs.script import parse_options, read_script
from portal.server.jobs.times import TIMES, check_shorter
from spawner.client.command import PATH, query, run_command
from spawner.errors import SlurmError

TIMEOUT_S = 15
# sbatch --no-requeue, or JobRequeue=0 in slurm.conf.
_NO_REQUEUE = "Requested operation is presently disabled"
# Output files that one listing asks for.
_N_LOOKS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The result of a dry run.

    Attributes:
        options: The script's #SBATCH options: names of sbatch's long options, and values.
        forecast: When and where the job would start, as Slurm says it, or in words why it is
            refused and the next step.
    """

    options: list[tuple[str, str]]
    forecast: str
    is_accepted: bool


class JobQueue:
    """The user's jobs.

    Args:
        own_job_id: The job that runs this session, or "".
    """

    def __init__(self, own_job_id: str, home: Path) -> None:
        self._own_job_id = own_job_id
        self._home = home
        # Of this session, so that those of jobs that Slurm has forgotten are known.
        self._outputs: dict[str, Path] = {}
        self._ended = EndedJobs(TIMEOUT_S)
        self._looks: set[asyncio.Task[None]] = set()

    async def list_jobs(self) -> list[SlurmJob]:
        """Return queued and running jobs, then jobs that ended in the last day, except sessions.

        If accounting does not respond, the ended jobs are missing.
        """
        nonce = new_nonce()
        queued, accounted = await asyncio.gather(
            query(("squeue", "--all", "--me", *QUEUED.options(nonce)), timeout_s=TIMEOUT_S),
            self._ended.read(),
        )
        # Of a large array it takes too long for the loop.
        jobs = await asyncio.to_thread(
            parse_lists, queued.stdout, accounted, nonce, user_uid=os.getuid()
        )
        self._look_for_outputs(jobs)
        return jobs

    async def cancel(self, job_id: str) -> None:
        """Cancel a job."""
        await self._check_own(job_id)
        await query(["scancel", _without_tasks(job_id)], timeout_s=TIMEOUT_S)

    async def change(self, job_id: str, action: Action) -> None:
        """Hold, release or requeue a job."""
        await self._check_own(job_id)
        try:
            await query(["scontrol", action.value, _without_tasks(job_id)], timeout_s=TIMEOUT_S)
        except SlurmError as error:
            if action is not Action.REQUEUE or _NO_REQUEUE not in error.stderr:
                raise
            raise PortalError(
                f"Job {job_id} was not submitted as one that may be requeued, and goes on. Cancel "
                'it, and choose "Submit again" once it is over.',
                http_status=409,
            ) from error

    async def shorten(self, job_id: str, walltime_s: int) -> None:
        """Lower the time limit of a job, so that it may start earlier."""
        for limit, used in await self._check_own(job_id):
            check_shorter(walltime_s, limit, used)
        words = (f"JobId={_without_tasks(job_id)}", f"TimeLimit={format_walltime(walltime_s)}")
        await query(("scontrol", "update", *words), timeout_s=TIMEOUT_S)

    async def _check_own(self, job_id: str) -> list[list[str]]:
        """Refuse a job that cannot be changed here; return its `TIMES`, of an array several."""
        _check_id(job_id)
        if job_id == self._own_job_id:
            raise OptionsError(
                f"Job {job_id} is this session. Save your work, then stop it in the Control Panel."
            )
        nonce, found = new_nonce(), []
        # --all: also in a partition that is hidden, or closed to this user by now.
        chosen = ("--all", "--me", f"--jobs={_without_tasks(job_id)}")
        try:
            done = await query(("squeue", *chosen, *TIMES.options(nonce)), timeout_s=TIMEOUT_S)
            found = list(TIMES.rows(done.stdout, nonce))
        except SlurmError as error:
            if NO_SUCH_JOB not in error.stderr:
                raise
        # scancel reports success for jobs that have ended, and for jobs of other users.
        if not found:
            raise PortalError(
                f"You have no job {job_id} that waits or runs, so nothing was changed. "
                "Choose a job of the list.",
                http_status=404,
            )
        return found

    async def read_used(self, job_id: str, step_name: str = "") -> str:
        """Return what an ended job used, in words; "" if it is not over, or not known.

        Args:
            job_id: The job; "" for that of this session.
            step_name: Of a run: only its steps count.
        """
        job_id = job_id or self._own_job_id
        _check_id(job_id)
        nonce = new_nonce()
        # Of a waiting array there is nothing yet.
        argv = ("sacct", *USED.options_with_steps(nonce), f"--jobs={_without_tasks(job_id)}")
        with suppress(SlurmError):
            done = await query(argv, timeout_s=TIMEOUT_S)
            uses = parse_uses(done.stdout, nonce, step_name=step_name)
            return uses[job_id].sentences if job_id in uses else ""
        return ""

    async def preview(self, script: Path) -> Preview:
        """Ask Slurm what it would do with a script; nothing is submitted."""
        text = await asyncio.to_thread(read_script, script)
        argv = [*_as_login(), "sbatch", "--test-only", f"--chdir={script.parent}", str(script)]
        done = await run_command(argv, timeout_s=TIMEOUT_S)
        # --test-only answers on standard error, also if all is well.
        said = " ".join(line.removeprefix("sbatch: ") for line in done.stderr.splitlines())
        is_accepted = done.exit_code == 0
        return Preview(
            options=parse_options(text),
            forecast=said if is_accepted else _why_refused(done.stderr, text),
            is_accepted=is_accepted,
        )

    async def submit(self, script: Path) -> str:
        """Submit a script and return the job's id; the job runs in the script's folder."""
        # Refuses what is no job script with a better sentence than sbatch's.
        text = await asyncio.to_thread(read_script, script)
        argv = [*_as_login(), "sbatch", "--parsable", f"--chdir={script.parent}", str(script)]
        done = await run_command(argv, timeout_s=TIMEOUT_S)
        match = PARSABLE_JOB_ID.search(done.stdout)
        if done.exit_code != 0 or match is None:
            raise OptionsError(_why_refused(done.stderr, text))
        self._look([match[1]])
        return match[1]

    async def read_output(self, job_id: str, offset: int) -> Output:
        """Return at most 128 KiB of a job's output.

        The `offset` is in bytes from the start of the file; a negative one means the last 128 KiB.
        """
        _check_id(job_id)
        path = await self._output_path(job_id)
        if path is None:
            return Output(text="", next_offset=max(0, offset), path="")
        return await asyncio.to_thread(read_piece, path, offset)

    async def find_script(self, job_id: str) -> Path:
        """Return the script that a job was submitted with, if it is still where it was."""
        _check_id(job_id)
        nonce, text = await self._ask_submitted(job_id)
        scripts = submitted_scripts(text, nonce, job_id)
        path = await asyncio.to_thread(existing_file, scripts)
        if path is None:
            raise OptionsError(
                f"The script of job {job_id} is not known, or no longer where it was. Submit it "
                "from the file browser."
            )
        return path

    def _look_for_outputs(self, jobs: list[SlurmJob]) -> None:
        # Only those that run: of many that wait, each would cost a question to slurmctld.
        running = [job for job in jobs if job.phase == "running" and not job.is_session]
        unknown = [job.id for job in running if job.id not in self._outputs]
        if unknown and not self._looks:
            self._look(unknown[:_N_LOOKS])

    def _look(self, job_ids: list[str]) -> None:
        """Remember in the background where jobs write, while Slurm still knows it."""

        async def look() -> None:
            for job_id in job_ids:
                # A later look may find it.
                with suppress(PortalError):
                    await self._ask_slurm(job_id)

        task = asyncio.ensure_future(look())
        self._looks.add(task)
        task.add_done_callback(self._looks.discard)

    async def _output_path(self, job_id: str) -> Path | None:
        return (
            self._outputs.get(job_id)
            or await self._ask_slurm(job_id)
            or await self._ask_accounting(job_id)
        )

    async def _ask_slurm(self, job_id: str) -> Path | None:
        argv = ["scontrol", "--oneliner", "show", "job", _without_tasks(job_id)]
        try:
            done = await query(argv, timeout_s=TIMEOUT_S)
        except SlurmError as error:
            # A job that ended some minutes ago.
            if NO_SUCH_JOB not in error.stderr:
                raise
            return None
        path = parse_output_path(done.stdout)
        if path is not None:
            self._outputs[job_id] = path
        return path

    async def _ask_accounting(self, job_id: str) -> Path | None:
        try:
            nonce, text = await self._ask_submitted(job_id)
        except PortalError:
            # A site may have no accounting, or it may be down.
            return None
        user = pwd.getpwuid(os.getuid()).pw_name
        paths = likely_paths(text, nonce, job_id, self._home, user)
        return await asyncio.to_thread(existing_file, paths)

    async def _ask_submitted(self, job_id: str) -> tuple[str, str]:
        nonce = new_nonce()
        argv = ["sacct", *SUBMITTED.options(nonce), f"--jobs={_without_tasks(job_id)}"]
        return nonce, (await query(argv, timeout_s=TIMEOUT_S)).stdout


def _check_id(job_id: str) -> None:
    cluster, _, number = job_id.rpartition(":")
    if cluster and is_job_id(number):
        raise PortalError(
            f"Job {number} is on {cluster}, whose Slurm this session cannot ask. A session there "
            "shows its output and changes it.",
            http_status=409,
        )
    if not is_job_id(job_id):
        raise OptionsError(f"{job_id!r:.60} is no job id. Choose a job of the list.")


def _why_refused(stderr: str, script: str) -> str:
    options = dict(parse_options(script))
    situation = Situation(subject=JOB, partition=options.get("partition"))
    return str(explain_rejection(stderr, situation))


def _without_tasks(job_id: str) -> str:
    """Return the array's id if `job_id` stands for its waiting tasks, as in 12_[1-5%2]."""
    return job_id.partition("_[")[0]


def _as_login() -> list[str]:
    # Our own commands run with LC_ALL=C and without the portal's folder in PATH; sbatch exports its
    # environment to the job, which should see a login's.
    commands = os.environ.get(COMMANDS)
    path = f"{commands}:{PATH}" if commands else PATH
    return ["env", "-u", "LC_ALL", "LANG=C.UTF-8", f"PATH={path}"]
