"""What tests wait with."""

import pytest

from tests.support.eventually import eventually, throughout


def test_what_becomes_true_is_returned_whatever_was_raised_before() -> None:
    answers = iter([ValueError("not yet"), 0, 7])

    def check() -> int:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert eventually(check, timeout_s=60, every_s=0) == 7


def test_what_never_becomes_true_fails_with_the_last_answer() -> None:
    with pytest.raises(AssertionError, match=r"not true after 1 attempts .* last: 0"):
        eventually(lambda: 0, timeout_s=0)


def test_what_stays_true_is_asked_at_the_end_too() -> None:
    n_calls = 0

    def check() -> bool:
        nonlocal n_calls
        n_calls += 1
        return True

    throughout(check, for_s=0.01, every_s=0.01)

    assert n_calls >= 2


def test_what_is_true_no_more_fails() -> None:
    answers = iter([True, True, False])

    with pytest.raises(AssertionError, match=r"true no more after .* of 60 s: False"):
        throughout(lambda: next(answers), for_s=60, every_s=0)
