"""One fault: what breaks, how it is healed, and what it may cost."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from tests.lab.faults.stage import Stage
from tests.support import parts

Strike = Callable[[Stage], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault.

    Args:
        strike: Breaks something when it is entered, and heals it when it is left.
        says: What the portal's first page says to those whose session it ends; they are in
            `Stage.victims`. Empty if it may end nobody's session.
        says_to_starters: What is said to those whose job it ends before their server answers, with
            HTTP 500 as for every such job. Empty if it may end none of them.
        may_refuse: Whether starts may be refused in the meantime, with a sentence.
        may_be_silent: Whether nothing answers in the meantime, as without the proxy.
    """

    name: str
    what: str
    strike: Strike
    says: str = ""
    says_to_starters: str = ""
    may_refuse: bool = True
    may_be_silent: bool = False
    may_lose_queued: bool = False


def let_pass(duration_s: float) -> None:
    """Let the fault last."""
    threading.Event().wait(duration_s)


def stopped(part: str, duration_s: float) -> Strike:
    """Return what kills one part and brings it back after a while."""

    @contextmanager
    def strike(_: Stage) -> Iterator[None]:
        let_pass(1)
        parts.kill(part)
        let_pass(duration_s)
        yield
        parts.start(part)

    return strike


def hanging(part: str, duration_s: float) -> Strike:
    """Return what keeps one part from answering for a while."""

    @contextmanager
    def strike(_: Stage) -> Iterator[None]:
        with parts.frozen(part):
            let_pass(duration_s)
            yield

    return strike
