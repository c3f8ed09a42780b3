"""The steps that the page shows while a session starts."""

import asyncio

from spawner.session.progress import Fact, Progress, ProgressUpdate


async def read(progress: Progress) -> list[ProgressUpdate]:
    return [news async for news in progress.news()]


def messages(progress: Progress) -> list[str]:
    return [step.message for step in progress.log]


async def test_a_page_that_is_opened_late_shows_the_steps_before() -> None:
    progress = Progress()
    progress.add_step("submitted", 10, "a")
    progress.add_step("queued", 30, "b")
    page = asyncio.ensure_future(read(progress))
    await asyncio.sleep(0)
    progress.add_step("running", 60, "c")
    progress.finish()

    assert [news.step.message for news in await page] == ["a", "b", "c"]
    assert [news.step.message for news in await read(progress)] == ["a", "b", "c"]


async def test_the_place_in_line_is_shown_until_the_first_step_and_is_not_saved() -> None:
    kept: list[str] = []
    progress = Progress(keep=lambda: kept.append("a step"))
    page = asyncio.ensure_future(read(progress))
    for place in (2, 1):
        progress.stand_in_line(f"number {place} in line")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert not kept
    progress.add_step("submitted", 10, "a")
    progress.stand_in_line("late")
    progress.finish()

    news = await page
    assert [one.step.message for one in news] == ["number 2 in line", "number 1 in line", "a"]
    assert [one.is_new for one in news] == [False, False, True]
    assert progress.line == ""


async def test_the_same_step_is_shown_once() -> None:
    progress = Progress()
    for _ in range(3):
        progress.add_step("queued", 30, "waits")
    progress.finish()

    assert [news.step.message for news in await read(progress)] == ["waits"]


async def test_a_long_wait_keeps_the_first_and_the_latest_steps() -> None:
    progress = Progress()
    page = asyncio.ensure_future(read(progress))
    await asyncio.sleep(0)
    for number in range(100):
        progress.add_step("queued", 30, str(number))
    progress.finish()

    shown = [news.step.message for news in await page]
    assert shown[0] == "0"
    assert shown[-1] == "99"
    assert len(shown) <= 30


async def test_facts_change_without_a_new_line_in_the_log() -> None:
    progress = Progress()
    progress.add_step("queued", 30, "waits")
    page = asyncio.ensure_future(read(progress))
    for n_jobs in (2, 2, 1):
        await asyncio.sleep(0)
        progress.show(Fact(name="Place", text=f"{n_jobs} before it"))
    await asyncio.sleep(0)
    progress.finish()

    news = await page
    assert [(n.is_new, [fact.text for fact in n.facts]) for n in news] == [
        (True, []),
        (False, ["2 before it"]),
        (False, ["1 before it"]),
    ]
    assert messages(progress) == ["waits"]


async def test_facts_before_the_first_step_are_shown_with_it() -> None:
    progress = Progress()
    progress.show(Fact(name="Slurm", text="has not answered yet"))
    page = asyncio.ensure_future(read(progress))
    await asyncio.sleep(0)
    progress.add_step("submitted", 10, "a")
    progress.finish()

    (news,) = await page
    assert news.facts[0].name == "Slurm"


async def test_after_a_restart_the_steps_before_it_have_kept_their_times() -> None:
    times = iter([100.0, 200.0])
    before = Progress(clock=lambda: next(times))
    before.add_step("submitted", 10, "Job 7 is submitted.")
    before.add_step("queued", 30, "waits")
    before.expected_at = 900.0

    after = Progress.from_state(before.to_state(), keep=lambda: None)
    after.add_step("submitted", 10, "Job 7 is submitted.")
    after.add_step("queued", 30, "waits")

    assert [(step.message, step.at) for step in after.log] == [
        ("Job 7 is submitted.", 100.0),
        ("waits", 200.0),
    ]
    assert (after.submitted_at, after.expected_at) == (100.0, 900.0)


def test_a_state_of_a_release_without_steps_can_be_read() -> None:
    assert Progress.from_state({"session": {}}, keep=lambda: None).log == ()


def test_each_new_step_is_kept_and_nothing_else_is() -> None:
    n_kept = 0

    def keep() -> None:
        nonlocal n_kept
        n_kept += 1

    progress = Progress(keep=keep)
    progress.add_step("queued", 30, "waits")
    progress.add_step("queued", 30, "waits")
    progress.show(Fact(name="Place", text="1 before it"))

    assert n_kept == 1


async def test_a_page_is_open_while_it_listens_and_for_a_minute_after_it_was_loaded() -> None:
    now = 1000.0
    progress = Progress(clock=lambda: now)
    assert not progress.is_read

    page = asyncio.ensure_future(read(progress))
    await asyncio.sleep(0)
    assert progress.is_read
    progress.finish()
    await page
    assert not progress.is_read

    assert progress.log == ()
    assert progress.is_read
    now += 61
    assert not progress.is_read
