"""How long somebody who gave wrong passwords has to wait."""

from __future__ import annotations

import pytest

from portal.hub.lockout import FORGET_AFTER_S, MOST_KEYS, Lockout

ADDRESS = "192.0.2.7"


class Clock:
    """A clock that tests turn."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lockout(clock: Clock) -> Lockout:
    return Lockout(clock)


def test_the_wait_doubles_from_the_fifth_wrong_password_up_to_five_minutes(
    lockout: Lockout,
) -> None:
    waits = []
    for _ in range(16):
        lockout.count("ada", ADDRESS)
        waits.append(lockout.wait_s("ada", ADDRESS))

    assert waits == [0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]


def test_the_wait_runs_off(lockout: Lockout, clock: Clock) -> None:
    for _ in range(6):
        lockout.count("ada", ADDRESS)

    clock.now_s += 1.5
    assert lockout.wait_s("ada", ADDRESS) == pytest.approx(0.5)
    clock.now_s += 0.5
    assert lockout.wait_s("ada", ADDRESS) == 0


def test_the_right_password_wipes_the_slate_clean(lockout: Lockout) -> None:
    for _ in range(10):
        lockout.count("ada", ADDRESS)

    lockout.forgive("ada", ADDRESS)

    assert lockout.wait_s("ada", ADDRESS) == 0


def test_many_addresses_that_guess_one_password_have_to_wait_too(lockout: Lockout) -> None:
    for n in range(30):
        lockout.count("ada", f"192.0.2.{n}")

    assert 0 < lockout.wait_s("ada", "198.51.100.1") <= 60
    assert lockout.wait_s("grace", "198.51.100.1") == 0


def test_one_address_that_tries_many_names_has_to_wait_but_a_class_room_has_not(
    lockout: Lockout,
) -> None:
    for n in range(150):
        lockout.count(f"user{n}", ADDRESS)
    assert lockout.wait_s("grace", ADDRESS) == 0

    for n in range(150, 220):
        lockout.count(f"user{n}", ADDRESS)
    assert 0 < lockout.wait_s("grace", ADDRESS) <= 60
    assert lockout.wait_s("grace", "198.51.100.1") == 0


def test_wrong_passwords_are_forgotten_after_a_while(lockout: Lockout, clock: Clock) -> None:
    for _ in range(4):
        lockout.count("ada", ADDRESS)
    clock.now_s += FORGET_AFTER_S + 1

    lockout.count("ada", ADDRESS)

    assert lockout.wait_s("ada", ADDRESS) == 0


def test_made_up_names_do_not_fill_the_memory(lockout: Lockout) -> None:
    for n in range(MOST_KEYS):
        lockout.count(f"user{n}", f"address {n}")

    assert len(lockout._failures) <= MOST_KEYS + 3
