"""A program of a user that asks the hub all through a fault, with a token that is good."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import requests

from tests.lab.faults.member import Member

EVERY_S = 0.5
# To a good token these are untrue.
REFUSED = (401, 403)


@dataclass
class Seen:
    """What the hub answered.

    Attributes:
        statuses: How often each HTTP status came; 0 stands for no answer.
    """

    statuses: Counter[int] = field(default_factory=Counter)
    slowest_s: float = 0.0

    def untrue(self) -> list[str]:
        """Return a sentence for each status that is not true of a good token."""
        return [
            f"a good token was answered {status}, {self.statuses[status]} times"
            for status in REFUSED
            if self.statuses[status]
        ]


@contextmanager
def watching(member: Member) -> Iterator[Seen]:
    """Ask the hub again and again in a user's name."""
    seen, is_over = Seen(), threading.Event()

    def ask() -> None:
        while not is_over.wait(EVERY_S):
            before_s = time.monotonic()
            try:
                status = member.ask("GET", "/user").status_code
            except requests.RequestException:
                status = 0
            seen.statuses[status] += 1
            seen.slowest_s = max(seen.slowest_s, time.monotonic() - before_s)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield seen
    finally:
        is_over.set()
        thread.join()
