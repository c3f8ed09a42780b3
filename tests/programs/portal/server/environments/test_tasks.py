"""Tasks of the dialogs, with the real command, the real uv and wheels made here."""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from portal.environments.errors import RegistryError
from portal.environments.registry import OWN_PATH, read_tables
from portal.server.environments.order import Order, parse_order
from portal.server.environments.tasks import State, Task, Tasks
from tests.support.checkout import PYTHONPATH
from tests.support.wheels import make_wheel

TIMEOUT_S = 120


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user whose index has two packages and what each kernel needs."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    for name, version in (("tiny", "1.0"), ("ipykernel", "7.0"), ("pip", "26.0")):
        make_wheel(wheels, name, version, "")
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", PYTHONPATH)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    return tmp_path


class Ends:
    """Counts the ends of tasks."""

    n = 0

    async def note(self) -> None:
        self.n += 1


@pytest.fixture
def ends() -> Ends:
    return Ends()


@pytest.fixture
def tasks(home: Path, ends: Ends) -> Tasks:
    return Tasks(home / "tasks", on_end=ends.note, log=logging.getLogger("tasks"))


def order(action: str, name: str = "mine", **fields: str) -> Order:
    return parse_order({"action": action, "name": name, **fields}, Path("/"))


async def end_of(task: Task) -> Task:
    assert task.ending is not None
    await asyncio.wait_for(task.ending, TIMEOUT_S)
    return task


async def test_an_environment_is_made_and_removed_and_its_log_is_read_in_pieces(
    home: Path, tasks: Tasks, ends: Ends
) -> None:
    task = await tasks.start(order("new", packages="tiny"))
    assert (task.state, tasks.is_running) == (State.RUNNING, True)
    assert task.as_json()["n_steps"] == 5

    await end_of(task)

    assert (task.state, ends.n) == (State.DONE, 1), task.output(0)
    assert task.sentence.startswith("mine: works on this machine.")
    assert task.as_json()["n_steps_done"] == 5
    first = task.output(0)
    assert "+ tiny==1.0" in first["text"]
    assert task.output(first["offset"]) == {"text": "", "offset": first["offset"]}
    assert list(read_tables(home / OWN_PATH)) == ["mine"]

    removed = await end_of(await tasks.start(order("remove")))

    assert (removed.state, removed.sentence) == (State.DONE, "Removed mine.")
    assert read_tables(home / OWN_PATH) == {}


async def test_what_fails_ends_with_the_sentence_of_the_command(tasks: Tasks) -> None:
    task = await end_of(await tasks.start(order("new", packages="absent")))

    assert task.state is State.FAILED
    assert task.sentence.startswith("No versions of these packages were found that fit together")
    assert task.as_json()["step"] == "Choosing versions"


async def test_a_name_that_is_taken_and_a_second_task_are_refused_at_once(
    home: Path, tasks: Tasks
) -> None:
    (home / OWN_PATH).parent.mkdir(parents=True)
    (home / OWN_PATH).write_text('[mine]\nvirtualenv = "/v"\n')
    with pytest.raises(RegistryError, match="You have an environment 'mine' already"):
        await tasks.start(order("new"))
    running = await tasks.start(order("new", "other"))

    with pytest.raises(RegistryError, match="the environment other is being worked on"):
        await tasks.start(order("remove"))

    await end_of(running)


@pytest.fixture
async def silent_index(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[asyncio.Event]:
    """An index that never answers; the event tells that it was asked."""
    asked = asyncio.Event()
    writers: list[asyncio.StreamWriter] = []

    async def keep_waiting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        writers.append(writer)
        # Until uv hangs up.
        await reader.read(-1)

    server = await asyncio.start_server(keep_waiting, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{port}/simple")
    yield asked
    server.close()
    for writer in writers:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def test_a_cancelled_task_leaves_nothing(
    home: Path, tasks: Tasks, silent_index: asyncio.Event
) -> None:
    task = await tasks.start(order("new", packages="tiny"))
    await asyncio.wait_for(silent_index.wait(), TIMEOUT_S)

    tasks.cancel(task.id)
    await end_of(task)

    assert task.state is State.CANCELLED
    assert task.sentence == "Cancelled. Everything is as it was."
    assert not (home / ".local/share/data-scientist-portal/environments/mine").exists()
    assert not (home / OWN_PATH).exists()


async def test_the_end_of_the_session_ends_what_runs(
    tasks: Tasks, silent_index: asyncio.Event
) -> None:
    task = await tasks.start(order("new", packages="tiny"))
    await asyncio.wait_for(silent_index.wait(), TIMEOUT_S)

    await tasks.stop()

    assert task.process.returncode is not None
