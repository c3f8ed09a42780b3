"""How full folders are."""

import pytest

from spawner.space import Space, parse_quota


@pytest.mark.parametrize("text", ["", "9000", "a b", "9000 -1", "1 2 3"])
def test_another_text_is_no_quota(text: str) -> None:
    assert parse_quota(text) is None


def test_a_quota_is_the_users_own() -> None:
    assert parse_quota("9000 10000\n") == Space(total_bytes=10000, used_bytes=9000, is_quota=True)
    assert parse_quota("9000 0") is None, "0 is how quota programs say that there is no limit"


def test_a_full_folder_has_no_negative_space() -> None:
    space = Space(total_bytes=10, used_bytes=12, is_quota=True)

    assert space.free_bytes == 0
    assert space.used_percent == 120
    assert Space(total_bytes=0, used_bytes=0).used_percent == 0
