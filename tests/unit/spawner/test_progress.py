"""The steps that the page shows while a session starts."""

from __future__ import annotations

import asyncio

from spawner.progress import Progress


async def read(progress: Progress) -> list[str]:
    return [step.message async for step in progress.steps()]


async def test_a_page_that_is_opened_late_shows_the_steps_before() -> None:
    progress = Progress()
    progress.tell("submitted", 10, "a")
    progress.tell("queued", 30, "b")
    page = asyncio.ensure_future(read(progress))
    await asyncio.sleep(0)
    progress.tell("running", 60, "c")
    progress.finish()

    assert await page == ["a", "b", "c"]
    assert await read(progress) == ["a", "b", "c"]


async def test_the_same_step_is_shown_once() -> None:
    progress = Progress()
    for _ in range(3):
        progress.tell("queued", 30, "waits")
    progress.finish()

    assert await read(progress) == ["waits"]


async def test_a_long_wait_keeps_the_first_and_the_latest_steps() -> None:
    progress = Progress()
    page = asyncio.ensure_future(read(progress))
    await asyncio.sleep(0)
    for number in range(100):
        progress.tell("queued", 30, str(number))
    progress.finish()

    messages = await page
    assert messages[0] == "0"
    assert messages[-1] == "99"
    assert len(messages) <= 30
