"""What a user gets mail about, from one look at the session to the next."""

import pytest

from portal.hub.mail.events import BOTH, END, START, Event, Look, Phase, compare

WAITED_S = 600.0
STARTING = Look(session_id="1", phase=Phase.STARTING, wants=BOTH)
READY = Look(session_id="1", phase=Phase.READY, wants=BOTH, left_s=3600)
FAILED = Look(session_id="", phase=Phase.OVER, wants=BOTH, is_explained=True)
STOPPED = Look(session_id="", phase=Phase.OVER, wants=BOTH)
OTHER = Look(session_id="2", phase=Phase.READY, wants=BOTH, left_s=3600)


def told(*looks: Look, at: float = WAITED_S, wants: str = BOTH) -> list[Event]:
    """Return all that is told over these looks, the first of which is that of a new hub."""
    kept, events = None, []
    for look in looks:
        now = Look(**{**{name: getattr(look, name) for name in Look.__slots__}, "wants": wants})
        happened, kept = compare(kept, now, at=at, before_end_s=900)
        events += happened
    return events


def left(left_s: float) -> Look:
    return Look(session_id="1", phase=Phase.READY, wants=BOTH, left_s=left_s)


@pytest.mark.parametrize(
    ("looks", "events"),
    [
        pytest.param([STARTING, STARTING, READY, READY], [Event.STARTED], id="starts"),
        pytest.param([STARTING, FAILED, FAILED], [Event.NOT_STARTED], id="does not start"),
        pytest.param([STARTING, STOPPED], [], id="its user cancels it"),
        pytest.param([READY, FAILED, FAILED], [Event.ENDED], id="ends"),
        pytest.param([READY, STOPPED], [], id="its user stops it"),
        pytest.param([FAILED, STARTING], [], id="an old end is not told again"),
        pytest.param([READY], [], id="a new hub does not tell of old starts"),
        pytest.param([left(901), left(900), left(800)], [Event.ENDS_SOON], id="ends soon, once"),
        pytest.param([left(900), left(5000), left(900)], [Event.ENDS_SOON] * 2, id="extended"),
        pytest.param([left(100), OTHER, left(100)], [Event.ENDS_SOON] * 2, id="two sessions"),
    ],
)
def test_each_thing_is_told_once(looks: list[Look], events: list[Event]) -> None:
    assert told(*looks) == events


def test_a_start_without_a_wait_is_not_told() -> None:
    assert told(STARTING, READY, at=59) == []


@pytest.mark.parametrize(
    ("wants", "events"),
    [
        (START, [Event.STARTED]),
        (END, [Event.ENDS_SOON, Event.ENDED]),
        (BOTH, [Event.STARTED, Event.ENDS_SOON, Event.ENDED]),
        ("", []),
        ("always", []),
    ],
)
def test_the_choice_of_the_form_decides(wants: str, events: list[Event]) -> None:
    assert told(STARTING, READY, left(60), FAILED, wants=wants) == events


def test_a_look_survives_a_restart_and_a_damaged_one_is_none() -> None:
    kept = Look(session_id="1", phase=Phase.READY, wants=END, is_warned=True)

    assert Look.from_state(kept.to_state()) == kept
    for damaged in (None, [], {}, {"phase": "x"}, {"phase": "ready", "more": 1}):
        assert Look.from_state(damaged) is None
