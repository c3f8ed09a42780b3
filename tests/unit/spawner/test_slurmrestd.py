"""slurmrestd's answers, and what is done where it gives none."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from spawner.errors import SlurmError, SlurmUnavailableError
from spawner.jobs import JobRecord
from spawner.slurmrestd import Slurmrestd, jobs_source, parse_jobs
from spawner.states import JobState
from spawner.traits import SiteTraits

OLD_JOB = {
    "job_id": 74,
    "user_name": "ada",
    "name": "dsportal-0123",
    "job_state": "RUNNING",
    "batch_host": "node01",
    "start_time": 1795249542,
    "end_time": 1795278342,
    "comment": "line one\nnode|two",
    "state_reason": "None",
}
NEW_JOB = OLD_JOB | {
    "job_state": ["RUNNING"],
    "start_time": {"set": True, "infinite": False, "number": 1795249542},
    "end_time": {"set": True, "infinite": False, "number": 1795278342},
}


def body(*jobs: dict[str, Any], errors: tuple[dict[str, Any], ...] = ()) -> bytes:
    return json.dumps({"meta": {}, "errors": errors, "jobs": jobs}).encode()


@asynccontextmanager
async def answering(path: Path, answer: Callable[[], bytes]) -> AsyncIterator[list[bytes]]:
    requests: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await reader.readuntil(b"\r\n\r\n"))
        content = answer()
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(content)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + content)
        await writer.drain()
        writer.close()

    server = await asyncio.start_unix_server(serve, path)
    async with server:
        yield requests


def test_old_and_new_releases_mean_the_same() -> None:
    (old,) = parse_jobs(body(OLD_JOB))

    assert parse_jobs(body(NEW_JOB)) == [old]
    assert old.key.job_id == 74
    assert (old.key.user, old.key.name) == ("ada", "dsportal-0123")
    assert (old.state, old.node, old.comment) == (JobState.RUNNING, "node01", "line one\nnode|two")
    assert old.starts_at.startswith("2026-11-2")
    length = datetime.fromisoformat(old.ends_at) - datetime.fromisoformat(old.starts_at)
    assert length == timedelta(hours=8)


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (["PENDING"], JobState.PENDING),
        (["RUNNING", "COMPLETING"], JobState.COMPLETING),
        (["RUNNING", "CONFIGURING"], JobState.CONFIGURING),
        ("FAILED", JobState.FAILED),
        ([], JobState.UNKNOWN),
        (["SOMETHING_NEW"], JobState.UNKNOWN),
    ],
)
def test_states_and_their_flags_are_read_as_squeue_shows_them(
    states: object, expected: JobState
) -> None:
    (record,) = parse_jobs(body(OLD_JOB | {"job_state": states}))

    assert record.state is expected


def test_a_job_that_waits_has_no_node_and_maybe_no_start() -> None:
    job = {"batch_host": None, "start_time": {"set": False, "infinite": False, "number": 0}}
    (record,) = parse_jobs(body(OLD_JOB | job))

    assert (record.node, record.starts_at) == ("", "")


def test_an_empty_list_with_errors_is_no_answer() -> None:
    with pytest.raises(SlurmUnavailableError):
        parse_jobs(body(errors=({"error": "Unable to contact slurm controller"},)))


@pytest.mark.parametrize("text", [b"", b"not json", b"[]", b"{}", b'{"errors": []}'])
def test_an_answer_of_another_form_is_an_error_in_words(text: bytes) -> None:
    with pytest.raises(SlurmError, match="slurmrestd_version"):
        parse_jobs(text)


async def test_one_question_serves_all_sessions(tmp_path: Path) -> None:
    others = [OLD_JOB | {"job_id": number} for number in (1, 2, 3)]
    async with answering(tmp_path / "socket", lambda: body(*others)) as requests:
        rest = Slurmrestd(str(tmp_path / "socket"), version="v0.0.38", timeout_s=5)

        records = await rest.list_jobs([2, 3, 99])

        assert [record.key.job_id for record in records] == [2, 3]
        assert await rest.list_jobs([]) == []
        assert len(requests) == 1
        assert requests[0].startswith(b"GET /slurm/v0.0.38/jobs ")


async def test_without_slurmrestd_squeue_is_asked_and_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "socket"
    n_squeue = 0

    class Squeue:
        async def list_jobs(self, job_ids: object) -> list[JobRecord]:
            nonlocal n_squeue
            n_squeue += 1
            return []

    traits = SiteTraits(slurmrestd_socket=str(path), slurm_timeout_s=2.0)
    squeue: Any = Squeue()
    list_jobs = jobs_source(squeue, traits, logging.getLogger("watcher"))

    await list_jobs([1])
    await list_jobs([1])
    assert n_squeue == 2
    assert caplog.text.count("squeue is asked") == 1
    async with answering(path, lambda: body(OLD_JOB)):
        (record,) = await list_jobs([74])
    assert record.key.job_id == 74
    assert n_squeue == 2


def test_a_site_without_slurmrestd_has_squeue_alone() -> None:
    class Squeue:
        async def list_jobs(self, job_ids: object) -> list[JobRecord]:
            return []

    squeue: Any = Squeue()
    assert jobs_source(squeue, SiteTraits(), logging.getLogger()) == squeue.list_jobs
