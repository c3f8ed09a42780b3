"""Whose password is checked next, and how long guessing takes."""

import pytest

from portal.hub.auth.login_throttle import (
    FORGET_AFTER_S,
    MOST_KEYS,
    MOST_WAITING,
    PER_ADDRESS,
    PER_NAME,
    CheckResult,
    LoginAttempt,
    LoginThrottle,
)
from tests.support.clock import Clock

CLASS_ROOM = "192.0.2.7"
FAR_AWAY = "198.51.100.1"


class Portal:
    """Logins whose checks take no time of their own."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.throttle = LoginThrottle(self.clock)

    def arrive(self, name: str, address: str = CLASS_ROOM, browser: str = "") -> LoginAttempt:
        """Let somebody send the form."""
        attempt = LoginAttempt(name=name, address=address, browser=browser)
        assert self.throttle.arrive(attempt) is None
        return attempt

    def log_in(
        self,
        name: str,
        address: str = CLASS_ROOM,
        browser: str = "",
        outcome: CheckResult = CheckResult.WRONG,
    ) -> float:
        """Send the form, wait for its turn; return how long that took in seconds."""
        attempt = self.arrive(name, address, browser)
        return self.wait_for(attempt, outcome)

    def wait_for(self, attempt: LoginAttempt, outcome: CheckResult) -> float:
        """Let time pass until an attempt was checked; all before it are wrong."""
        started_s = self.clock.now_s
        while True:
            for one in self.throttle.next_attempts():
                self.throttle.finish(one, outcome if one is attempt else CheckResult.WRONG)
                if one is attempt:
                    return self.clock.now_s - started_s
            after_s = self.throttle.next_check_s()
            assert after_s is not None
            self.clock.now_s += after_s


@pytest.fixture
def portal() -> Portal:
    return Portal()


def test_five_wrong_passwords_cost_nothing_and_each_further_one_a_little(portal: Portal) -> None:
    waits_s = [portal.log_in("ada") for _ in range(8)]

    assert waits_s == pytest.approx([0, 0, 0, 0, 0, 0.3, 0.6, 0.9])


def test_a_guesser_has_six_tries_a_minute_however_many_addresses_he_has(portal: Portal) -> None:
    for n in range(100):
        portal.log_in("ada", f"192.0.2.{n}")

    waits_s = [portal.log_in("ada", f"203.0.113.{n}") for n in range(6)]

    assert waits_s == pytest.approx([PER_NAME.longest_s] * 6)


def test_the_first_minutes_of_guessing_are_slow_too(portal: Portal) -> None:
    started_s = portal.clock.now_s
    n_tries = 0
    while portal.clock.now_s < started_s + 60:
        portal.log_in("ada", FAR_AWAY)
        n_tries += 1

    assert n_tries <= 30


def test_the_right_password_is_let_in_seconds_after_fifteen_wrong_ones(portal: Portal) -> None:
    for n in range(15):
        portal.log_in("ada", f"198.51.100.{n % 3}")

    assert portal.log_in("ada", CLASS_ROOM, outcome=CheckResult.RIGHT) < 4


def test_a_burst_of_guesses_from_everywhere_lets_the_owner_go_first_too(portal: Portal) -> None:
    for n in range(20):
        portal.arrive("ada", f"198.51.100.{n}")
    for guess in portal.throttle.next_attempts():
        portal.throttle.finish(guess, CheckResult.WRONG)

    owner = portal.arrive("ada")

    assert portal.wait_for(owner, CheckResult.RIGHT) < 1


def test_a_browser_that_has_logged_in_before_waits_for_no_guesser(portal: Portal) -> None:
    for _ in range(60):
        portal.log_in("ada", CLASS_ROOM)
    for _ in range(20):
        portal.arrive("ada", CLASS_ROOM)

    assert portal.log_in("ada", CLASS_ROOM, browser="b1", outcome=CheckResult.RIGHT) == 0


def test_such_a_browser_guesses_no_faster_than_others(portal: Portal) -> None:
    waits_s = [portal.log_in("ada", browser="b1") for _ in range(7)]

    assert waits_s == pytest.approx([0, 0, 0, 0, 0, 0.3, 0.6])


def test_two_hundred_good_logins_of_a_class_room_count_for_nothing(portal: Portal) -> None:
    attempts = [portal.arrive(f"user{n}") for n in range(250)]
    at_once = portal.throttle.next_attempts()
    for attempt in at_once:
        portal.throttle.finish(attempt, CheckResult.RIGHT)
    for attempt in portal.throttle.next_attempts():
        portal.throttle.finish(attempt, CheckResult.RIGHT)

    assert len(at_once) == 200
    assert set(portal.throttle._waiting) == set()
    assert len(attempts) == 250
    assert portal.log_in("grace") == 0


def test_one_address_that_tries_many_names_is_slowed_and_others_are_not(portal: Portal) -> None:
    for n in range(300):
        portal.log_in(f"user{n}", FAR_AWAY)

    assert portal.log_in("grace", FAR_AWAY) == pytest.approx(2)
    assert portal.log_in("grace", CLASS_ROOM) == 0
    assert portal.log_in("linus", FAR_AWAY, browser="b1") == 0


def test_a_burst_has_no_more_tries_than_are_free(portal: Portal) -> None:
    for _ in range(20):
        portal.arrive("ada")

    checking = portal.throttle.next_attempts()

    assert len(checking) == 5
    assert portal.throttle.next_check_s() is None, "others have to finish first"
    for attempt in checking:
        portal.throttle.finish(attempt, CheckResult.WRONG)
    assert portal.throttle.next_check_s() == pytest.approx(0.3)


def test_the_right_password_forgives_the_wrong_ones_before_it(portal: Portal) -> None:
    for _ in range(4):
        portal.log_in("ada", FAR_AWAY)
    for _ in range(5):
        portal.log_in("ada")

    portal.log_in("ada", outcome=CheckResult.RIGHT)

    others = LoginAttempt(name="ada", address="203.0.113.1")
    assert portal.throttle.spacing_s(others) == 0
    portal.log_in("ada", FAR_AWAY)
    assert portal.throttle.spacing_s(others) == pytest.approx(0.3), "those of others stay"


def test_a_check_without_an_answer_counts_for_nothing(portal: Portal) -> None:
    waits_s = [portal.log_in("ada", outcome=CheckResult.UNKNOWN) for _ in range(30)]

    assert set(waits_s) == {0}


def test_wrong_passwords_are_forgotten_after_a_while(portal: Portal) -> None:
    for _ in range(20):
        portal.log_in("ada")
    portal.clock.now_s += FORGET_AFTER_S + 1

    portal.log_in("grace")

    assert portal.log_in("ada") == 0


def test_people_who_mistype_at_a_busy_address_all_day_slow_nobody_down(portal: Portal) -> None:
    for n in range(1000):
        portal.log_in(f"user{n}")
        portal.clock.now_s += PER_ADDRESS.forget_one_s

    assert portal.log_in("grace") == 0


def test_an_attack_that_has_ended_is_forgotten_while_its_owner_logs_in_now_and_then(
    portal: Portal,
) -> None:
    for n in range(500):
        portal.log_in("ada", f"198.51.100.{n % 9}")
    for _ in range(5):
        portal.clock.now_s += FORGET_AFTER_S - 1
        portal.log_in("ada", outcome=CheckResult.RIGHT)

    assert portal.throttle.spacing_s(LoginAttempt(name="ada", address=CLASS_ROOM)) == 0


def test_where_too_many_wait_the_one_with_most_wrong_passwords_goes(portal: Portal) -> None:
    for _ in range(10):
        portal.log_in("ada", FAR_AWAY)
    guesses = [portal.arrive("ada", FAR_AWAY) for _ in range(PER_NAME.most_waiting)]

    assert portal.throttle.arrive(LoginAttempt(name="ada", address=CLASS_ROOM)) is guesses[0]
    assert portal.throttle.arrive(LoginAttempt(name="ada", address=FAR_AWAY)) is guesses[1]


def test_made_up_names_fill_neither_memory_nor_waiting_room(portal: Portal) -> None:
    for n in range(MOST_KEYS // 2):
        portal.log_in(f"user{n}", f"address {n}")
    for n in range(MOST_WAITING + 50):
        portal.throttle.arrive(LoginAttempt(name=f"name{n}", address=f"place {n}"))

    assert len(portal.throttle._tallies) <= MOST_KEYS + 3
    assert len(portal.throttle._waiting) == MOST_WAITING
