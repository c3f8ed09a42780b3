"""Runs the steps of deploy/up and deploy/down in order, and prints how each went."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from deploy.common.errors import DeployError

TITLE_WIDTH = 36


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step, which does nothing if its work is already done."""

    name: str
    title: str
    do: Callable[[], str]


def select(steps: Sequence[Step], only: Sequence[str]) -> list[Step]:
    """Return the wanted steps, in order; all of them if `only` is empty."""
    names = [step.name for step in steps]
    for name in only:
        if name not in names:
            raise DeployError(
                f"There is no step '{name}'.", next_step=f"The steps are: {', '.join(names)}."
            )
    return [step for step in steps if not only or step.name in only]


def run_steps(steps: Sequence[Step]) -> None:
    """Run steps in order; print title, outcome and time of each."""
    for number, step in enumerate(steps, start=1):
        # Before it is done, so that a step that takes long can be told by its title.
        print(f"[{number:>2}/{len(steps)}] {step.title:<{TITLE_WIDTH}} ", end="", flush=True)
        start = time.monotonic()
        try:
            outcome = step.do()
        # An interrupt, too, has to end the line that was begun.
        except BaseException:
            print("failed", flush=True)
            raise
        print(f"{outcome}  ({time.monotonic() - start:.1f} s)", flush=True)
