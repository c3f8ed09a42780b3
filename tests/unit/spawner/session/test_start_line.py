"""The line of starts: who is next, what each is told, and whom a slow or cancelled one holds up."""

import asyncio
import contextlib

import pytest

from spawner.session.start_line import StartLine, describe_place
from tests.support.eventually import eventually_async


class Starts:
    """Starts in one line; each ends when it is told to."""

    def __init__(self, line: StartLine) -> None:
        self.line = line
        self.began: list[str] = []
        self.places: dict[str, tuple[int, int]] = {}
        self.ends: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def begin(self, name: str) -> None:
        """Start a session of the user whose name comes before the dash."""
        self.ends[name] = asyncio.Event()
        self.tasks[name] = asyncio.ensure_future(self._start(name))
        await asyncio.sleep(0)

    async def _start(self, name: str) -> None:
        def tell(place: int, n_waiting: int) -> None:
            self.places[name] = place, n_waiting

        async with self.line.turn(name.partition("-")[0], tell):
            self.began.append(name)
            await self.ends[name].wait()

    async def end(self, name: str) -> None:
        self.ends[name].set()
        await self.tasks[name]
        await asyncio.sleep(0)


async def test_a_start_without_others_waits_for_nobody() -> None:
    starts = Starts(StartLine(1))

    await starts.begin("ada")

    assert starts.began == ["ada"]
    assert not starts.places


async def test_each_start_is_told_its_place_and_when_it_moves_up() -> None:
    starts = Starts(StartLine(1))
    for name in ("ada", "grace", "alan", "emmy"):
        await starts.begin(name)

    assert starts.began == ["ada"]
    assert starts.places == {"grace": (1, 3), "alan": (2, 3), "emmy": (3, 3)}
    await starts.end("ada")
    assert starts.began == ["ada", "grace"]
    assert starts.places["emmy"] == (2, 2)


async def test_who_starts_several_sessions_does_not_hold_up_the_others() -> None:
    starts = Starts(StartLine(1))
    for name in ("ada-1", "ada-2", "ada-3", "ada-4", "grace", "alan"):
        await starts.begin(name)
    for name in ("ada-1", "ada-2", "grace", "alan", "ada-3"):
        await starts.end(name)

    assert starts.began == ["ada-1", "ada-2", "grace", "alan", "ada-3", "ada-4"]


async def test_a_cancelled_start_leaves_the_line_and_gives_its_turn_back() -> None:
    starts = Starts(StartLine(1))
    for name in ("ada", "grace", "alan"):
        await starts.begin(name)
    for name in ("grace", "ada"):
        starts.tasks[name].cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await starts.tasks[name]
    await asyncio.sleep(0)

    assert starts.began == ["ada", "alan"]


async def test_a_start_that_takes_long_holds_nobody_up() -> None:
    starts = Starts(StartLine(1, longest_turn_s=0.01))
    await starts.begin("ada")
    await starts.begin("grace")

    async def both_began() -> bool:
        return starts.began == ["ada", "grace"]

    await eventually_async(both_began, 30)
    assert not starts.tasks["ada"].done()


@pytest.mark.parametrize(
    ("place", "n_waiting", "expected"),
    [
        (1, 1, "Your start is next in line."),
        (7, 20, "Your start is number 7 of 20 in line."),
    ],
)
def test_the_place_is_a_sentence(place: int, n_waiting: int, expected: str) -> None:
    assert describe_place(place, n_waiting) == expected
