"""A real kernel moves to a job and back, with a queue that runs jobs on this machine."""

import asyncio
import errno
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import zmq
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager
from traitlets.config import Config

from dsportal.slurm.states import Phase
from dsportal.start.follow_up import FOLDER as FOLLOW_UP
from portal.server.base.kernel_listener import Death, KernelListener, Published
from portal.server.base.private_dir import make_private_dir
from portal.server.kernel_jobs import kernel_jobs, lend, variables
from portal.server.kernel_jobs.asking import Letters
from portal.server.kernel_jobs.cells import MESSAGE, Cells
from portal.server.kernel_jobs.errors import KernelJobError
from portal.server.kernel_jobs.folder import FOLDER
from portal.server.kernel_jobs.follow_up import FollowUp
from portal.server.kernel_jobs.handover import Progress
from portal.server.kernel_jobs.idle_gpus import IdleGpus
from portal.server.kernel_jobs.kernel_jobs import KernelJobs
from portal.server.kernel_jobs.request import GpuRequest, Variables
from portal.server.kernel_jobs.slurm import JobRequest, JobStatus, KernelSlurm
from portal.server.kernel_jobs.starts import JobStarts
from portal.settings.session_tables import read_settings
from spawner.options.budget_messages import ChargedBudgets
from spawner.options.limits import Limits
from spawner.slurm.catalog import Catalog
from tests.support.checkout import CHECKOUT
from tests.support.eventually import eventually_async
from tests.unit.spawner.options.test_job_options import node, partition

START = CHECKOUT / "portal/dsportal/dsportal/start/kernel.py"
WHERE = "import os; print(os.environ.get('SLURM_JOB_ID', 'here'))"
WHERE_IN_R = "cat(Sys.getenv('SLURM_JOB_ID'))"
KERNELS = {
    "own": ([sys.executable, str(START), "-f"], "python"),
    "r": (["R", "--slave", "--no-restore", "-e", "IRkernel::main()", "--args"], "R"),
    "foreign": ([sys.executable, "-m", "ipykernel", "-f"], "python"),
}


class LocalQueue(KernelSlurm):
    """Starts each job at once, on this machine."""

    def __init__(self) -> None:
        self.jobs: dict[int, subprocess.Popen[bytes]] = {}
        self.requests: list[JobRequest] = []
        self.waits = False
        # That which jobs are told by Slurm, or "".
        self.node = ""
        self.never_tells = False
        self.fails = False
        self.end = "It reached its time limit."

    async def read_catalog(self) -> Catalog:
        here = replace(node("node02", {"v100": 2}), address="127.0.0.1")
        return Catalog(partitions={"gpu": partition("gpu", here, is_default=True)})

    async def read_charged(self, partition: str) -> ChargedBudgets:
        return ChargedBudgets()

    async def submit(self, request: JobRequest) -> int:
        if self.fails:
            raise ValueError("This Slurm says something new.")
        self.requests.append(request)
        job_id = 100 + len(self.requests)
        with (request.folder / "job.log").open("wb") as log:
            self.jobs[job_id] = subprocess.Popen(  # noqa: ASYNC220 - it returns at once
                request.command,
                env={**os.environ, "SLURM_JOB_ID": str(job_id), "SLURMD_NODENAME": self.node},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        if self.never_tells:
            await asyncio.Event().wait()
        return job_id

    async def status(self, job_id: int, *, n_gpus: int) -> JobStatus:
        if self.waits:
            return JobStatus(phase=Phase.WAITING, words="No node has them free.")
        if self.jobs[job_id].poll() is not None:
            return JobStatus(phase=Phase.OVER, words=self.end)
        return JobStatus(phase=Phase.RUNNING, node="node02", left_s=7200)

    async def signal(self, job_id: int, name: str) -> None:
        self.jobs[job_id].send_signal(signal.Signals[f"SIG{name}"])

    async def cancel(self, job_id: int) -> None:
        self.jobs[job_id].terminate()


class Session:
    """The kernels of a notebook server, and one of them."""

    def __init__(self, folder: Path) -> None:
        for name, (argv, language) in KERNELS.items():
            spec = folder / "kernels" / name
            spec.mkdir(parents=True)
            argv = [*argv, "{connection_file}"]
            text = {"argv": argv, "display_name": name, "language": language, "env": {}}
            (spec / "kernel.json").write_text(json.dumps(text))
        # A path of pytest's is too long for a socket.
        self.sockets = make_private_dir({})
        specs = KernelSpecManager(kernel_dirs=[str(folder / "kernels")])
        self.kernels = AsyncMappingKernelManager(
            kernel_spec_manager=specs,
            connection_dir=str(self.sockets),
            root_dir=str(folder),
            config=Config({"KernelManager": {"transport": "ipc"}}),
        )
        self.queue = LocalQueue()

        self.notebooks: dict[str, str] = {}

        async def list_sessions() -> list[Any]:
            return [
                {"kernel": {"id": kernel}, "path": path} for kernel, path in self.notebooks.items()
            ]

        server = SimpleNamespace(
            kernel_manager=self.kernels,
            session_manager=SimpleNamespace(list_sessions=list_sessions),
        )
        settings = read_settings({})
        log = self.kernels.log

        async def place(job_id: int) -> str:
            return f"Place in the queue: about {job_id} jobs before it."

        async def refusal() -> str:
            return self.refusal

        hub: Any = SimpleNamespace(read_place=place, read_refusal=refusal)
        self.refusal = ""
        self.preference = Variables.ALWAYS
        read = lambda: self.preference  # noqa: E731
        starts = JobStarts(server, settings, self.queue, Limits(), hub)
        self.jobs = KernelJobs(server, settings.kernel_jobs, starts, read)
        self.jobs.look_for_questions = Letters(self.jobs, settings.kernel_jobs).look
        self.follow_up = FollowUp(server, self.jobs.talks, settings.kernel_jobs, read)
        listener = KernelListener(log)
        self.deaths: list[Death] = []
        listener.on_death(self.deaths.append)
        listener.watch(self.kernels)
        Cells(self.kernels, self.jobs, settings.kernel_jobs).listen(listener)

    async def until(self, check: Callable[[], bool]) -> None:
        """Wait for what a check sees."""

        async def look() -> bool:
            return check()

        await eventually_async(look, timeout_s=40)

    async def run(self, code: str, answer: str | None = None) -> str:
        """Run a cell and return what it shows; give an answer to what it asks."""
        client = self.kernels.get_kernel(self.id).client()
        client.start_channels()
        shown: list[str] = []

        def take(message: dict[str, Any]) -> None:
            content = message["content"]
            shown.append(content.get("text") or content.get("data", {}).get("text/plain", ""))
            shown.append(" ".join(content.get("traceback", [])))

        def reply(message: dict[str, Any]) -> None:
            client.input(answer)

        how = {"allow_stdin": answer is not None, "stdin_hook": reply}
        try:
            await client.wait_for_ready(timeout=60)
            running = client._async_execute_interactive(code, output_hook=take, **how)
            await asyncio.wait_for(running, 60)
            # The server hears of the end by a message of its own.
            await self.until(lambda: self.kernels.get_kernel(self.id).execution_state != "busy")
        finally:
            client.stop_channels()
        return "".join(shown)


@asynccontextmanager
async def session(folder: Path) -> AsyncIterator[Session]:
    one = Session(folder)
    one.id = await one.kernels.start_kernel(kernel_name="own")
    try:
        yield one
    finally:
        await one.jobs.stop()
        await one.kernels.shutdown_all()
        for job in one.queue.jobs.values():
            job.terminate()
            job.wait()
        shutil.rmtree(one.sockets)


@pytest.fixture
def within(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SLURM_JOB_ID", "77")

    def run(test: Callable[[Session], Awaitable[None]]) -> None:
        async def main() -> None:
            async with session(tmp_path) as one:
                await test(one)

        asyncio.run(main())

    return run


def test_a_kernel_moves_to_a_job_by_a_cell_and_comes_back(within: Any) -> None:
    async def moves(one: Session) -> None:
        assert await one.run(WHERE) == "77\n"
        assert "starts anew with 2 v100 GPUs" in await one.run("%gpu v100:2 --hours 3")
        await one.until(lambda: one.jobs.describe(one.id)["gpus"] == 2)

        assert await one.run(WHERE) == "101\n"
        assert "2 v100 GPUs, 1 h 59 min left" in await one.run("%gpu")
        (request,) = one.queue.requests
        assert (request.walltime_s, request.resources.n_cores) == (3 * 3600, 16)

        assert "starts anew in the session" in await one.run("%gpu 0")
        await one.until(lambda: one.jobs.describe(one.id)["gpus"] == 0)
        assert await one.run(WHERE) == "77\n"
        assert await asyncio.to_thread(one.queue.jobs[101].wait, 20) == 0
        assert not request.folder.exists()

        assert "starts anew with 1 GPU" in await one.run("%gpu 1")
        await one.until(lambda: one.jobs.describe(one.id)["gpus"] == 1)
        assert await one.run(WHERE) == "102\n"

        # From one job to another.
        await one.run("%gpu 2")
        await one.until(lambda: one.jobs.describe(one.id)["gpus"] == 2)
        assert await one.run(WHERE) == "103\n"
        assert await asyncio.to_thread(one.queue.jobs[102].wait, 20) == 0

    within(moves)


def test_a_job_that_has_started_is_used_before_slurm_says_so(within: Any) -> None:
    async def moves(one: Session) -> None:
        one.queue.waits, one.queue.node = True, "node02"
        await one.run("%gpu 1")
        await one.until(lambda: one.jobs.describe(one.id)["gpus"] == 1)
        assert await one.run(WHERE) == "101\n"

    within(moves)


MAKE = """
import threading
numbers = [1, 2]
same = numbers
factor = 2
def scaled(x):
    return factor * x
class Point:
    x = 3
point = Point()
lock = threading.Lock()
"""
CHECK = """
factor = 5
print(numbers is same, scaled(1), type(point) is Point, threading.active_count() > 0)
factor = 2
"""


def test_variables_come_along_to_a_job_and_back_and_the_cell_names_what_cannot(within: Any) -> None:
    async def moves(one: Session) -> None:
        await one.run(MAKE)
        shown = await one.run("%gpu 1")
        assert "7 variables come along. Not restored: lock (lock, cell 1)." in shown
        await one.until(lambda: one.jobs.describe(one.id)["gpus"] == 1)
        assert await one.run(CHECK) == "True 5 True True\n"
        assert await one.run("print(lock)") != ""
        assert "In[1]" not in await one.run("numbers.append(3); print(len(In) > 3)")

        assert "come along" in await one.run("%gpu 0")
        await one.until(lambda: one.jobs.describe(one.id)["gpus"] == 0)
        assert await one.run("print(numbers, same)") == "[1, 2, 3] [1, 2, 3]\n"
        assert await one.run(WHERE) == "77\n"
        assert not list((Path.home() / FOLDER).glob("variables-*"))

        assert "stay behind" in await one.run("%gpu 1 --variables never")
        await one.until(lambda: one.jobs.describe(one.id)["gpus"] == 1)
        assert "NameError" in await one.run("numbers")

    within(moves)


LENT = """with gpus(1, hours=1):
    import os
    numbers.append(int(os.environ["SLURM_JOB_ID"]))
    print("there", scaled(4))
    made = Point()
"""


def test_a_block_runs_on_gpus_and_its_variables_come_back(within: Any) -> None:
    async def runs(one: Session) -> None:
        await one.run(MAKE)
        shown = await one.run(LENT)
        assert "there 8\n" in shown
        assert shown.endswith("The GPUs are given back. The variables are back.")
        look = "print(numbers, same is numbers, type(made) is Point, lock.locked())"
        assert await one.run(look) == "[1, 2, 101] True True False\n"
        assert await one.run(WHERE) == "77\n"
        await asyncio.to_thread(one.queue.jobs[101].wait, 20)
        assert not list((Path.home() / FOLDER).iterdir())
        assert one.queue.requests[0].walltime_s == 3600

        failed = await one.run("%%gpu 1\nnumbers.append(4)\n1 / 0")
        assert "ZeroDivisionError" in failed
        assert await one.run("print(numbers)") == "[1, 2, 101, 4]\n"

        assert "only statement of its cell" in await one.run(LENT + "print(2)")

    within(runs)


def test_a_block_that_is_interrupted_ends_there_and_the_kernel_goes_on(within: Any) -> None:
    async def runs(one: Session) -> None:
        await one.run("steps = 0")
        begun = Path.home() / "begun"
        code = f"%%gpu 1\nimport time\nsteps = 1\nopen({str(begun)!r}, 'w').close()\ntime.sleep(50)"
        running = asyncio.create_task(one.run(code))
        await one.until(begun.exists)
        await one.kernels.interrupt_kernel(one.id)

        assert "KeyboardInterrupt" in await running
        assert await one.run("print(steps)") == "1\n"

    within(runs)


def test_a_kernel_that_the_button_moves_says_at_its_next_cell_what_is_missing(within: Any) -> None:
    async def moves(one: Session) -> None:
        await one.run(MAKE)
        request = GpuRequest(n_gpus=1, walltime_s=3600)
        begun = Path.home() / "begun"
        code = f"open({str(begun)!r}, 'w').close(); import time; time.sleep(2); numbers.append(3)"
        busy = asyncio.create_task(one.run(code))
        await one.until(begun.exists)
        await one.jobs.change(one.id, request)
        await busy

        assert await one.run("print(numbers)") == ("Not restored: lock (lock, cell 1).[1, 2, 3]\n")
        assert await one.run("print(numbers)") == "[1, 2, 3]\n"

    within(moves)


def test_variables_that_are_too_large_stay_with_their_kernel(
    within: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def moves(one: Session) -> None:
        await one.run("text = 'a' * 3_000_000; small = 1")
        shown = await one.run("%gpu 1")
        assert "need more than 2.0 MB. Largest: text" in shown
        assert "with --variables never" in shown
        assert await one.run("print(small)") == "1\n"
        await asyncio.to_thread(one.queue.jobs[101].wait, 20)
        assert not list((Path.home() / FOLDER).iterdir())

    # 20 of these are the site's limit.
    monkeypatch.setattr(variables, "_GB", 100_000)
    within(moves)


def test_the_setting_decides_whether_variables_come_along_unless_a_line_does(within: Any) -> None:
    async def moves(one: Session) -> None:
        one.preference = Variables.NEVER
        await one.run("x = 1")
        assert "stay behind" in await one.run("%gpu 1")
        await one.until(lambda: one.jobs.describe(one.id)["gpus"] == 1)
        await one.run("x = 2")
        assert "1 variable comes along" in await one.run("%gpu 0 --variables always")
        await one.until(lambda: one.jobs.describe(one.id)["gpus"] == 0)
        assert await one.run("print(x)") == "2\n"

        one.preference = Variables.ASK
        assert "stay behind" in await one.run("%gpu 1", answer="n")
        await one.until(lambda: one.jobs.describe(one.id)["gpus"] == 1)
        await one.run("x = 3")
        # Nobody can answer.
        assert "1 variable comes along" in await one.run("%gpu 0")
        await one.until(lambda: one.jobs.describe(one.id)["gpus"] == 0)
        assert await one.run("print(x)") == "3\n"
        assert "always, ask or never" in await one.run("%gpu 1 --variables some")

    within(moves)


async def opened(one: Session, notebook: str, session: str = "78") -> str:
    """Start the kernel of a notebook as Jupyter does, and use it from now on."""
    environ = {**os.environ, "JPY_SESSION_NAME": notebook, "SLURM_JOB_ID": session}
    one.id = await one.kernels.start_kernel(kernel_name="own", path="", env=environ)
    one.notebooks[one.id] = notebook
    return one.id


def test_a_notebook_of_the_next_session_has_the_variables_at_its_first_cell(within: Any) -> None:
    async def follows(one: Session) -> None:
        old = await opened(one, "train.ipynb")
        await one.run(MAKE)
        (words,) = await one.follow_up.save()
        assert words.startswith("train.ipynb: 7 variables come along. Not restored: lock")
        # The session may stay: its kernel goes on.
        assert await one.run("print(factor)") == "2\n"
        await one.kernels.shutdown_kernel(old)
        one.notebooks.clear()
        await opened(one, "train.ipynb", session="77")
        assert "NameError" in await one.run("factor")
        one.notebooks.clear()

        await opened(one, "other.ipynb")
        assert "NameError" in await one.run("factor")
        await opened(one, "train.ipynb")
        shown = await one.run(CHECK)
        assert "Variables of the session before that are back: 7." in shown
        assert shown.endswith("True 5 True True\n")
        assert await one.run("print(numbers is same, factor)") == "True 2\n"
        await opened(one, "train.ipynb")
        assert "NameError" in await one.run("factor")

        busy = asyncio.create_task(one.run("import time; time.sleep(3)"))
        await one.until(lambda: one.kernels.get_kernel(one.id).execution_state == "busy")
        with pytest.raises(KernelJobError, match="A cell runs in train"):
            await one.follow_up.save()
        await busy

    within(follows)


def test_variables_that_cannot_all_be_saved_leave_nothing_behind(
    within: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def follows(one: Session) -> None:
        await opened(one, "small.ipynb")
        await one.run("x = 1")
        await opened(one, "large.ipynb")
        await one.run("text = 'a' * 3_000_000")

        with pytest.raises(KernelJobError, match="Largest: text"):
            await one.follow_up.save()
        assert not list((Path.home() / FOLLOW_UP).iterdir())

    # 20 of these are the site's limit.
    monkeypatch.setattr(variables, "_GB", 100_000)
    within(follows)


def test_what_was_saved_for_a_session_that_did_not_follow_is_forgotten(within: Any) -> None:
    async def follows(one: Session) -> None:
        await opened(one, "train.ipynb")
        await one.run("x = 1")
        await one.follow_up.save()
        (folder,) = (Path.home() / FOLLOW_UP).iterdir()
        os.utime(folder / "index.json", (1, 1))
        # Of a server that was killed while a kernel moved.
        moves = Path.home() / FOLDER
        for name in ("variables-old", "variables-new"):
            (moves / name).mkdir()
        os.utime(moves / "variables-old", (1, 1))

        await opened(one, "train.ipynb")
        assert "NameError" in await one.run("x")
        one.follow_up.forget_old()
        assert not folder.exists()
        assert [one.name for one in moves.iterdir()] == ["variables-new"]

    within(follows)


def test_a_server_that_ends_while_a_kernel_moves_leaves_nothing_in_the_home(
    within: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    restores = asyncio.Event()

    async def wait(*_: Any) -> str:
        restores.set()
        await asyncio.Event().wait()
        return ""

    async def moves(one: Session) -> None:
        running = asyncio.create_task(one.run("x = 1\n%gpu 1"))
        await asyncio.wait_for(restores.wait(), 40)
        await one.jobs.stop()
        assert not list((Path.home() / FOLDER).iterdir())
        await one.kernels.shutdown_all()
        running.cancel()

    monkeypatch.setattr(variables.Saved, "restore_in_job", wait)
    within(moves)


def truncate(folder: Path) -> None:
    """As a full disk or a lost node leaves a file."""
    with (folder / "index.json").open("r+") as file:
        file.truncate(20)


def other_python(folder: Path) -> None:
    """As after an update of the user's environment."""
    index = folder / "index.json"
    index.write_text(json.dumps({**json.loads(index.read_text()), "python": "cpython-36"}))


def kill(folder: Path) -> None:
    """As out of memory."""
    (folder / "variables.pickle").write_bytes(KILLER)
    index = folder / "index.json"
    entries = [["x", 0, 0]]
    index.write_text(json.dumps({**json.loads(index.read_text()), "entries": entries}))


class Killer:
    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (9,)


KILLER = pickle.dumps(Killer())


@pytest.mark.parametrize(
    ("spoil", "why"),
    [(truncate, "JSON"), (other_python, "cpython-36 has saved them"), (kill, "has ended")],
)
def test_a_kernel_that_comes_home_without_its_variables_works_and_all_tabs_say_why(
    within: Any,
    monkeypatch: pytest.MonkeyPatch,
    spoil: Callable[[Path], None],
    why: str,
) -> None:
    restore_here = variables.Saved.restore_here

    async def spoilt(self: variables.Saved, kernel: Any) -> str:
        spoil(self.folder)
        return await restore_here(self, kernel)

    async def moves(one: Session) -> None:
        await one.run("%gpu 1")
        await one.until(lambda: one.jobs.describe(one.id)["gpus"] == 1)
        await one.run("x = 1")
        await one.run("%gpu 0")
        await one.until(lambda: bool(one.jobs.notices()))

        assert one.jobs.describe(one.id)["gpus"] == 0
        (notice,) = one.jobs.notices()
        assert "Its variables are lost." in notice
        assert why in notice
        await eventually_async(lambda: _shows(one, WHERE, "77\n"), timeout_s=40)
        assert "NameError" in await one.run("x")
        await asyncio.to_thread(one.queue.jobs[101].wait, 20)
        assert not list((Path.home() / FOLDER).iterdir())
        await one.run("%gpu 1")
        await one.until(lambda: one.jobs.describe(one.id)["gpus"] == 1)

    monkeypatch.setattr(variables.Saved, "restore_here", spoilt)
    within(moves)


@pytest.mark.parametrize("is_back", [False, True], ids=["there", "back"])
def test_a_block_whose_variables_are_spoilt_ends_with_words_and_holds_nothing(
    within: Any, monkeypatch: pytest.MonkeyPatch, is_back: bool
) -> None:
    n_made = 0
    make = variables.make_folder

    def make_full(kind: str) -> Path:
        """Stand for a disk that is full when the index is written."""
        nonlocal n_made
        folder = make(kind)
        n_made += 1
        if (n_made > 1) is is_back:
            (folder / "index.json").mkdir()
        return folder

    async def runs(one: Session) -> None:
        await one.run("x = 1")
        shown = await one.run("%%gpu 1\nx = 2")
        assert "The variables cannot be saved: FileExistsError" in shown
        assert await one.run("print(x)") == "1\n"
        await asyncio.to_thread(one.queue.jobs[101].wait, 20)
        assert one.jobs.describe(one.id)["gpus"] == 0

    monkeypatch.setattr(variables, "make_folder", make_full)
    monkeypatch.setattr(lend, "make_folder", make_full)
    within(runs)


def test_a_kernel_in_a_job_is_interrupted_and_restarted_in_the_same_job(within: Any) -> None:
    async def moves(one: Session) -> None:
        await one.run("%gpu 1")
        await one.until(lambda: one.jobs.describe(one.id)["gpus"] == 1)
        running = asyncio.create_task(one.run("import time; print('on'); time.sleep(50)"))
        kernel = one.kernels.get_kernel(one.id)
        await one.until(lambda: kernel.execution_state == "busy")
        await one.kernels.interrupt_kernel(one.id)
        assert "KeyboardInterrupt" in await running

        await one.run("held = 1")
        await one.kernels.restart_kernel(one.id)
        assert "NameError" in await one.run("held")
        assert await one.run(WHERE) == "101\n"
        assert len(one.queue.requests) == 1

        # As a crash in compiled code.
        await one.run("import os, signal; pid = os.getpid()")
        await asyncio.wait(
            [asyncio.create_task(one.run("os.kill(pid, signal.SIGSEGV)"))], timeout=1
        )
        await one.until(lambda: bool(one.deaths))
        assert [(death.status, death.is_restarted) for death in one.deaths] == [(-11, True)]
        await eventually_async(lambda: _shows(one, WHERE, "101\n"), timeout_s=40)
        assert len(one.queue.requests) == 1

    within(moves)


def test_idle_gpus_go_back_and_the_kernel_goes_on_in_the_session(
    within: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {"meter": {"interval_s": 0.3}, "idle": {"after_minutes": 0.03, "warning_minutes": 0.1}}
    monkeypatch.setenv("PORTAL_SETTINGS", json.dumps(told))

    async def idles(one: Session) -> None:
        policy = replace(read_settings(os.environ).idle, cpu_percent=50.0)
        reports: list[str] = []

        async def report(notebook: str, idle_s: float) -> None:
            reports.append(notebook)

        idle = IdleGpus(one.jobs, policy, 0.3, one.kernels.log, report, lambda *_: None)
        idle.start()
        await one.run("%gpu 1")
        await one.until(lambda: one.jobs.describe(one.id)["gpus"] == 1)
        running = asyncio.create_task(one.run("import time; time.sleep(8)"))
        (held,) = await idle.list_held()
        assert held["words"].startswith("1 GPU, 1 h 59 min left")
        await running
        assert one.jobs.describe(one.id)["gpus"] == 1

        await one.until(lambda: "Run a cell" in " ".join(idle.notices()))
        await one.until(lambda: "are given back" in " ".join(idle.notices()))
        assert await one.run(WHERE) == "77\n"
        await asyncio.to_thread(one.queue.jobs[101].wait, 20)
        assert reports == ["a kernel"]
        await idle.stop()

    within(idles)


async def _shows(one: Session, code: str, text: str) -> bool:
    return await asyncio.wait_for(one.run(code), 10) == text


def test_a_kernel_whose_job_has_ended_goes_on_in_the_session_and_says_why(within: Any) -> None:
    async def moves(one: Session) -> None:
        await one.run("%gpu 1")
        await one.until(lambda: one.jobs.describe(one.id)["gpus"] == 1)
        one.queue.jobs[101].terminate()
        await one.until(lambda: bool(one.jobs.notices()))

        assert "It reached its time limit." in one.jobs.notices()[0]
        assert await one.run(WHERE) == "77\n"

    within(moves)


def test_a_folder_that_cannot_be_read_hides_the_end_of_no_job(
    within: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(folder: Path) -> Progress:
        raise OSError(errno.ESTALE, "Stale file handle", str(folder))

    async def moves(one: Session) -> None:
        await one.run("%gpu 1")
        await one.until(lambda: one.jobs.describe(one.id)["gpus"] == 1)
        monkeypatch.setattr(kernel_jobs, "_ASK_S", 0.0)
        monkeypatch.setattr(Progress, "read", fail)
        one.queue.jobs[101].terminate()

        await one.until(lambda: bool(one.jobs.notices()))
        assert await one.run(WHERE) == "77\n"

    within(moves)


def test_while_the_job_waits_the_cell_says_why_and_an_interrupt_cancels_it(within: Any) -> None:
    async def moves(one: Session) -> None:
        one.queue.waits = True
        waiting = asyncio.create_task(one.run("%gpu 1"))
        words = "No node has them free. Place in the queue: about 101 jobs before it."
        await one.until(lambda: one.jobs.describe(one.id)["reason"] == words)
        await one.kernels.interrupt_kernel(one.id)

        assert "The request is cancelled." in await waiting
        await asyncio.to_thread(one.queue.jobs[101].wait, 20)
        assert await one.run(WHERE) == "77\n"

    within(moves)


def test_a_question_that_nobody_heard_is_asked_again_and_answered_once(
    within: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_heard = 0
    hear = Cells._hear

    def deaf_at_first(self: Cells, message: Published) -> None:
        nonlocal n_heard
        n_heard += message.kind == MESSAGE
        if n_heard > 1:
            hear(self, message)
            # As if the answer took longer than the kernel waits.
            hear(self, message)

    async def asks(one: Session) -> None:
        assert "starts anew with 1 GPU" in await one.run("%gpu 1")
        await one.until(lambda: one.jobs.describe(one.id)["gpus"] == 1)
        assert len(one.queue.requests) == 1

    monkeypatch.setattr(Cells, "_hear", deaf_at_first)
    within(asks)


def test_what_the_server_did_not_foresee_ends_the_cell_and_holds_nothing(within: Any) -> None:
    async def asks(one: Session) -> None:
        one.queue.fails = True
        assert "This Slurm says something new." in await one.run("%gpu 1")
        assert await one.run(WHERE) == "77\n"
        assert one.jobs.describe(one.id)["is_waiting"] is False

    within(asks)


def test_a_job_whose_request_was_cancelled_before_its_number_was_known_ends(within: Any) -> None:
    async def moves(one: Session) -> None:
        one.queue.never_tells = True
        waiting = asyncio.create_task(one.run("%gpu 1"))
        await one.until(lambda: bool(one.queue.jobs))
        await one.kernels.interrupt_kernel(one.id)

        assert "The request is cancelled." in await waiting
        # Without it the job ends.
        await one.until(lambda: not one.queue.requests[0].folder.exists())

    within(moves)


def test_a_neighbour_without_the_key_reads_nothing_that_a_kernel_prints(within: Any) -> None:
    async def moves(one: Session) -> None:
        await one.run("%gpu 1")
        await one.until(lambda: one.jobs.describe(one.id)["gpus"] == 1)
        await is_closed_to_others(one)

    within(moves)


async def is_closed_to_others(one: Session) -> None:
    """Who has no key reads nothing, and nobody else reads the key."""
    (request,) = one.queue.requests
    file = request.folder / "kernel.json"
    info = json.loads(file.read_text())
    with zmq.Context() as context, context.socket(zmq.SUB) as plain:
        plain.linger = 0
        plain.subscribe(b"")
        plain.connect(f"tcp://127.0.0.1:{info['iopub_port']}")
        for _ in range(5):
            await one.run("print('secret')")
            assert plain.poll(200) == 0
    assert (file.stat().st_mode & 0o777, request.folder.stat().st_mode & 0o777) == (0o600, 0o700)


async def moved(one: Session, n_gpus: int) -> None:
    """Let the button give a kernel GPUs, or take them back."""
    await one.jobs.change(one.id, GpuRequest(n_gpus=n_gpus, walltime_s=3600))


def test_an_r_kernel_moves_with_its_variables_and_names_what_cannot(within: Any) -> None:
    async def moves(one: Session) -> None:
        one.id = await one.kernels.start_kernel(kernel_name="r")
        await one.run("library(tools); x <- c(a = 1); f <- function(y) x + y; log <- file('x')")
        waiting = asyncio.create_task(one.run("Sys.sleep(2); x <- x + 1"))
        kernel = one.kernels.get_kernel(one.id)
        await one.until(lambda: kernel.execution_state == "busy")
        await moved(one, 1)
        await waiting
        (notice,) = one.jobs.notices()
        assert "Not restored: log (file)." in notice
        assert await one.run(WHERE_IN_R) == "101"
        assert (
            await one.run("cat(f(3), 'tools' %in% .packages(), 'log' %in% ls())") == "5 TRUE FALSE"
        )

        sleeps = asyncio.create_task(one.run("Sys.sleep(50)"))
        await one.until(lambda: kernel.execution_state == "busy")
        await one.kernels.interrupt_kernel(one.id)
        await sleeps
        await one.run("x <- x + 1")
        await moved(one, 0)
        assert await one.run(f"cat(x); {WHERE_IN_R}") == "377"
        assert not list((Path.home() / FOLDER).iterdir())

        await moved(one, 1)
        await one.kernels.restart_kernel(one.id)
        assert await one.run(f"cat(exists('x')); {WHERE_IN_R}") == "FALSE102"

    within(moves)


def test_a_program_that_r_starts_in_a_job_gives_the_gpus_back(within: Any) -> None:
    async def gives_back(one: Session) -> None:
        one.id = await one.kernels.start_kernel(kernel_name="r")
        await one.run("kept <- 7")
        await moved(one, 1)

        command = f"{sys.executable} -P -m portal.cli gpu 0"
        assert "a kernel: 1 GPU" in await one.run(f"cat(system('{command}', intern = TRUE))")

        await one.until(lambda: not one.jobs.describe(one.id)["is_waiting"])
        assert await one.run(f"{WHERE_IN_R}; cat('', kept)") == "77 7"

    within(gives_back)


def test_a_kernel_that_others_could_read_has_a_door_and_says_what_stays_behind(within: Any) -> None:
    async def moves(one: Session) -> None:
        one.id = await one.kernels.start_kernel(kernel_name="foreign")
        await one.run("x = 1")
        await moved(one, 1)
        assert await one.run(WHERE) == "101\n"
        assert "cannot save its variables" in one.jobs.notices()[0]
        assert "NameError" in await one.run("x")
        assert await one.run("print(input())", answer="typed") == "typed\n"
        await is_closed_to_others(one)

    within(moves)


def test_a_number_that_no_node_has_is_refused_in_words(within: Any) -> None:
    async def asks(one: Session) -> None:
        shown = await one.run("%gpu 9")
        assert "the largest node of Slurm's default partition has 2" in shown
        assert "is not a number of GPUs" in await one.run("%gpu many")
        assert "%gpu v100:2 --hours 3" in await one.run("%gpu 1 2 3")
        one.refusal = "Maintenance."
        assert "Maintenance. Until that is over" in await one.run("%gpu 1")
        assert one.queue.requests == []

    within(asks)
