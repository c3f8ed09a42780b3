"""Slow answers are shared, remembered, and never waited for longer than wanted."""

from __future__ import annotations

import asyncio

import pytest

from spawner.answers import Answers
from spawner.errors import PortalError


class Source:
    """Answers with the number of the question, when it is let."""

    def __init__(self) -> None:
        self.n_asked = 0
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.error: PortalError | None = None
        self.now_s = 0.0
        self.answers: Answers[str, int] = Answers(
            self.ask, fresh_s=300, n_kept=2, clock=lambda: self.now_s
        )

    async def ask(self, key: str) -> int:
        self.n_asked += 1
        await self.may_answer.wait()
        if self.error is not None:
            raise self.error
        return self.n_asked

    async def read(self, key: str = "ada", *, patience_s: float = 5) -> int | None:
        return await self.answers.read(key, patience_s=patience_s)


@pytest.fixture
async def source() -> Source:
    return Source()


async def test_many_who_ask_at_once_share_one_question(source: Source) -> None:
    assert await asyncio.gather(*(source.read() for _ in range(100))) == [1] * 100


async def test_an_answer_is_given_again_until_it_is_old(source: Source) -> None:
    assert await source.read() == 1
    source.now_s = 299
    assert await source.read() == 1
    source.now_s = 300
    assert await source.read() == 2


async def test_who_has_no_patience_gets_nothing_or_the_old_answer_while_it_is_asked(
    source: Source,
) -> None:
    source.may_answer.clear()
    assert await source.read(patience_s=0.01) is None
    source.may_answer.set()
    assert await source.read() == 1

    source.now_s = 1000
    source.may_answer.clear()
    assert await source.read(patience_s=0.01) == 1
    assert await source.read(patience_s=0.01) == 1
    assert source.n_asked == 2, "a question that is under way is not asked again"
    source.may_answer.set()
    assert await source.read() == 2


async def test_a_failure_is_remembered_for_half_a_minute_only(source: Source) -> None:
    source.error = PortalError("Slurm's accounting does not answer.")
    for _ in range(2):
        with pytest.raises(PortalError, match="accounting"):
            await source.read()
    assert source.n_asked == 1

    source.error, source.now_s = None, 30
    assert await source.read() == 2


async def test_only_so_many_answers_are_kept(source: Source) -> None:
    for key in ("ada", "grace", "linus"):
        await source.read(key)

    assert await source.read("linus") == 3
    assert await source.read("ada") == 4
    source.answers.forget(lambda key: key == "ada")
    assert await source.read("ada") == 5
