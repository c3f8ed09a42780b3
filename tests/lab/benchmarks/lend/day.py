"""A day of 50 people on 64 GPUs, simulated: the product's own policy takes idle GPUs back.

Source:
    Carver et al., "NotebookOS: A Replicated Notebook Platform for Interactive Training with
    On-Demand GPUs", ASPLOS 2026, arXiv 2503.20591, on notebooks of Adobe: nearly 70 % of reserved
    GPUs are never used in their session; of the cells that train, half take 2 minutes at most and
    three quarters 5; half of the times from one such cell to the next are 5 minutes at most;
    reserved GPUs are idle for more than 81 % of the time. Lognormal tails beyond these are an
    assumption, as are the number of GPUs of each person and the hours of a day.
"""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from portal.server.base.idle import IdleState, IdleWatch, Observation
from portal.settings.idle import IdleSettings

N_GPUS = 64
# GPUs of 50 people: 62 together, so that nobody waits for a session with GPUs.
GPUS_OF = (1,) * 42 + (2,) * 6 + (4,) * 2
SESSION_S = 8 * 3600.0
STEP_S = 60.0
NEVER_USED_SHARE = 0.7
_MEDIAN_CELL_S = 120.0
_MEDIAN_GAP_S = 300.0
# The upper quartile of a normal distribution is at 0.6745.
_SIGMA = math.log(300.0 / 120.0) / 0.6745
_LATEST_START_S = 2 * 3600.0


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell that trains.

    Attributes:
        after_s: Seconds from the end of the cell before, or from the start of the session.
    """

    after_s: float
    takes_s: float


@dataclass(frozen=True, slots=True)
class Person:
    """One person's day."""

    n_gpus: int
    starts_s: float
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """What a day came to.

    Attributes:
        held_h: GPU hours held.
        used_h: GPU hours in which cells trained.
        n_asked: Times that somebody asked for GPUs.
        longest_wait_s: The longest wait for them.
    """

    held_h: float
    used_h: float
    n_asked: int
    longest_wait_s: float


def draw_people(seed: int, *, never_used_share: float) -> list[Person]:
    """Return the people of one day."""
    draw = random.Random(seed)
    people = []
    for n_gpus in GPUS_OF:
        trains = draw.random() >= never_used_share
        cells = tuple(_draw_cells(draw)) if trains else ()
        people.append(Person(n_gpus, draw.uniform(0, _LATEST_START_S), cells))
    return people


def _draw_cells(draw: random.Random) -> Iterator[Cell]:
    at_s = 0.0
    while True:
        cell = Cell(_draw_s(draw, _MEDIAN_GAP_S), _draw_s(draw, _MEDIAN_CELL_S))
        at_s += cell.after_s + cell.takes_s
        if at_s > SESSION_S:
            return
        yield cell


def _draw_s(draw: random.Random, median_s: float) -> float:
    return draw.lognormvariate(math.log(median_s), _SIGMA)


def with_sessions_that_hold_gpus(people: Sequence[Person]) -> Day:
    """Return the day if each session holds its GPUs from its start to its end."""
    return Day(
        held_h=sum(person.n_gpus for person in people) * SESSION_S / 3600,
        used_h=_used_h(people),
        n_asked=len(people),
        longest_wait_s=0.0,
    )


def with_gpus_of_kernels(people: Sequence[Person], policy: IdleSettings) -> Day:
    """Return the day if kernels ask for GPUs at the first cell that trains, and lose idle ones.

    Nobody gives GPUs back by hand. All cells run, later where they had to wait.
    """
    line: list[_Kernel] = []
    kernels = [_Kernel(person, policy) for person in people]
    n_free, now_s = N_GPUS, 0.0
    while not all(kernel.is_over for kernel in kernels):
        for kernel in kernels:
            n_free += kernel.go_on(now_s)
            if kernel.waits_since_s is not None and kernel not in line:
                line.append(kernel)
        # First come, first served, as Slurm does without priorities.
        while line and line[0].person.n_gpus <= n_free:
            kernel = line.pop(0)
            n_free -= kernel.person.n_gpus
            kernel.take(now_s)
        now_s += STEP_S
    return Day(
        held_h=sum(kernel.held_s * kernel.person.n_gpus for kernel in kernels) / 3600,
        used_h=_used_h(people),
        n_asked=sum(kernel.n_asked for kernel in kernels),
        longest_wait_s=max(kernel.longest_wait_s for kernel in kernels),
    )


def _used_h(people: Sequence[Person]) -> float:
    return sum(p.n_gpus * cell.takes_s for p in people for cell in p.cells) / 3600


class _Kernel:
    """The kernel of one person, looked at once a minute."""

    def __init__(self, person: Person, policy: IdleSettings) -> None:
        self.person = person
        self.held_s = self.longest_wait_s = 0.0
        self.n_asked = 0
        self.waits_since_s: float | None = None
        self._policy = policy
        self._watch: IdleWatch | None = None
        self._cells = list(person.cells)
        self._next_s = person.starts_s + (self._cells[0].after_s if self._cells else 0.0)
        self._busy_until_s = -1.0

    @property
    def is_over(self) -> bool:
        """Whether all cells have run and the GPUs are back."""
        return not self._cells and self._watch is None

    def go_on(self, now_s: float) -> int:
        """Go on to `now_s`, and return the GPUs that were given back."""
        if self._watch is not None:
            self.held_s += STEP_S
        is_busy = now_s < self._busy_until_s
        if self._cells and not is_busy and now_s >= self._next_s:
            if self._watch is not None:
                self._run(now_s)
                is_busy = True
            elif self.waits_since_s is None:
                self.waits_since_s = now_s
                self.n_asked += 1
        if self._watch is None or self._look(now_s, is_busy=is_busy) is not IdleState.OVER:
            return 0
        self._watch = None
        return self.person.n_gpus

    def take(self, now_s: float) -> None:
        """Take the GPUs that it waits for."""
        if self.waits_since_s is not None:
            self.longest_wait_s = max(self.longest_wait_s, now_s - self.waits_since_s)
        self.waits_since_s = None
        self._watch = IdleWatch(self._policy, now_s, save_s=0.0)
        self._run(now_s)

    def _run(self, now_s: float) -> None:
        cell = self._cells.pop(0)
        self._busy_until_s = now_s + cell.takes_s
        if self._cells:
            self._next_s = self._busy_until_s + self._cells[0].after_s

    def _look(self, now_s: float, *, is_busy: bool) -> IdleState:
        if self._watch is None:
            return IdleState.OVER
        return self._watch.look(
            Observation(
                now_s=now_s,
                gpu_percents=(90.0 if is_busy else 0.0,),
                is_kernel_busy=is_busy,
                programs_percent=0.5,
                input_s=-math.inf,
            )
        )
