"""What the hub says of guests, and what counts while it says nothing."""

import logging
from collections.abc import Mapping
from typing import Any

import pytest

from portal.server.base.guest_rights import (
    ANSWER_COUNTS_S,
    NOTHING,
    GuestRights,
    Rights,
    parse_rights,
)
from portal.server.base.hub_api import HubError
from tests.support.clock import Clock


class Hub:
    """Answers, or fails with a status."""

    def __init__(self) -> None:
        self.answer: Mapping[str, Any] = {"may_work": True}
        self.status = 0
        self.n_asked = 0

    async def read_guest(self, name: str) -> Mapping[str, Any]:
        self.n_asked += 1
        if self.status:
            raise HubError("No.", http_status=self.status)
        return self.answer


@pytest.fixture
def hub() -> Hub:
    return Hub()


@pytest.fixture
def rights(hub: Hub, clock: Clock) -> GuestRights:
    return GuestRights(hub, logging.getLogger("test"), clock)


async def test_an_answer_counts_for_some_seconds(
    rights: GuestRights, hub: Hub, clock: Clock
) -> None:
    assert (await rights.of("grace")).may_work
    hub.answer = {}
    assert (await rights.of("grace")).may_work
    assert hub.n_asked == 1
    clock.now_s += ANSWER_COUNTS_S
    assert await rights.of("grace") == NOTHING


async def test_the_hub_is_asked_again_before_its_answer_is_old(
    rights: GuestRights, hub: Hub
) -> None:
    assert (await rights.of("grace")).may_work
    hub.answer = {}
    rights.ask_again()
    assert await rights.of("grace") == NOTHING


async def test_a_hub_that_does_not_answer_when_it_is_asked_again_ends_no_right(
    rights: GuestRights, hub: Hub
) -> None:
    assert (await rights.of("grace")).may_work
    hub.status = 503
    rights.ask_again()
    assert (await rights.of("grace")).may_work


async def test_while_the_hub_is_away_only_its_last_answer_counts(
    rights: GuestRights, hub: Hub, clock: Clock
) -> None:
    await rights.of("grace")
    hub.status = 503
    clock.now_s += 2 * ANSWER_COUNTS_S
    assert (await rights.of("grace")).may_work
    assert await rights.of("linus") == NOTHING


async def test_a_hub_that_refuses_to_answer_lets_nobody_in(
    rights: GuestRights, hub: Hub, clock: Clock
) -> None:
    await rights.of("grace")
    hub.status = 404
    clock.now_s += 2 * ANSWER_COUNTS_S
    assert await rights.of("grace") == NOTHING


@pytest.mark.parametrize(
    "answer",
    [{}, {"may_work": "yes"}, {"documents": "a.ipynb"}, {"documents": [1]}, {"reads_open": 1}],
)
def test_what_is_not_understood_gives_nothing(answer: Mapping[str, Any]) -> None:
    assert parse_rights(answer) == NOTHING


def test_one_notebook_is_that_one_only() -> None:
    one = Rights(documents=frozenset({"a.ipynb"}))
    assert one.may_read("a.ipynb", is_open=False)
    assert not one.may_read("b.ipynb", is_open=True)
    all_open = Rights(reads_open=True)
    assert all_open.may_read("b.ipynb", is_open=True)
    assert not all_open.may_read("b.ipynb", is_open=False)
