"""What the user is told about a kernel that has died."""

import asyncio
import logging
import signal

import pytest

from portal.server.base.cgroup import Usage
from portal.server.base.kernel_listener import Death, Published
from portal.server.session.dead_kernels import NOTICE_S, DeadKernels, describe_death
from tests.support.clock import Clock


class Source:
    """A job's cgroup, which counts what the test says."""

    def __init__(self) -> None:
        self.n_killed = 3

    def read(self) -> Usage:
        return Usage(0.0, 0)

    def memory_limit_mib(self) -> int | None:
        return None

    def n_killed_for_memory(self) -> int:
        return self.n_killed

    def pids(self) -> list[int]:
        return []


async def notebook_of(kernel_id: str) -> str:
    return {"k1": "work/digits.ipynb"}.get(kernel_id, "")


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def dead(source: Source, clock: Clock) -> DeadKernels:
    return DeadKernels(source, notebook_of, logging.getLogger("test"), clock)


def published(kernel_id: str, kind: str) -> Published:
    return Published(
        kernel_id=kernel_id, kind=kind, parent_id="", parent_kind="", metadata={}, unpack=dict
    )


def note(
    dead: DeadKernels, kernel_id: str, status: int | None, is_out_of_memory: bool | None = None
) -> str:
    death = Death(
        kernel_id=kernel_id,
        status=status,
        is_restarted=True,
        is_out_of_memory=is_out_of_memory,
    )
    asyncio.run(dead.note(death))
    return dead.notices()[-1]


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (-signal.SIGSEGV, "crashed in compiled code, such as that of a package (SIGSEGV)."),
        (-signal.SIGABRT, "aborted (SIGABRT)"),
        (-signal.SIGRTMIN, f"was ended by signal {signal.SIGRTMIN:d}."),
        (3, "ended by itself with exit status 3."),
        (None, "has died."),
    ],
)
def test_the_reason_is_said_in_words(dead: DeadKernels, status: int | None, words: str) -> None:
    said = note(dead, "k1", status)

    assert said.startswith("The kernel of digits.ipynb ")
    assert words in said
    assert said.endswith("It has been restarted, and its memory is lost.")


def test_a_kernel_that_was_killed_for_its_memory_is_told_from_one_that_was_only_killed(
    dead: DeadKernels, source: Source
) -> None:
    assert "most often because memory was full" in note(dead, "k1", -signal.SIGKILL)

    source.n_killed += 1

    said = note(dead, "k2", -signal.SIGKILL)
    assert "A kernel of this session was killed because the session's memory was full." in said
    assert "Use smaller batches" in said


def test_a_kernel_in_a_job_of_its_own_is_told_of_the_memory_of_that_job(
    dead: DeadKernels, source: Source
) -> None:
    assert "the memory of its job was full" in note(dead, "k1", -signal.SIGKILL, True)

    source.n_killed += 1

    said = note(dead, "k2", -signal.SIGKILL, False)
    assert "most often because memory was full" in said
    assert "more GPUs" in said


def test_a_second_death_is_another_notice_in_place_of_the_first(dead: DeadKernels) -> None:
    note(dead, "k1", -signal.SIGSEGV)

    assert "It has died 2 times in a few minutes." in note(dead, "k1", -signal.SIGSEGV)
    assert len(dead.notices()) == 1


def test_a_notice_goes_when_the_kernel_runs_a_cell_again(dead: DeadKernels) -> None:
    note(dead, "k1", -signal.SIGSEGV)
    note(dead, "k2", -signal.SIGSEGV)

    dead.take(published("k1", "status"))
    assert len(dead.notices()) == 2
    dead.take(published("k1", "execute_input"))

    assert len(dead.notices()) == 1
    note(dead, "k1", -signal.SIGSEGV)
    assert "It has died 2 times in a few minutes." in dead.notices()[0]


def test_a_notice_is_taken_away_after_a_while(dead: DeadKernels, clock: Clock) -> None:
    note(dead, "k1", -signal.SIGSEGV)

    clock.now_s += NOTICE_S

    assert dead.notices() == []


def test_a_kernel_that_is_given_up_says_what_to_do() -> None:
    death = Death(kernel_id="k1", status=1, is_restarted=False)
    said = describe_death("a.ipynb", death, is_out_of_memory=False)

    assert said.endswith("To try once more: Kernel, Restart Kernel.")
