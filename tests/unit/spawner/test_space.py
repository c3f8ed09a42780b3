"""How full folders are: what stat and a quota program print."""

import pytest

from spawner.space import Space, parse_quota, parse_statfs


def test_free_space_is_what_users_may_fill_as_df_counts() -> None:
    # stat --file-system on ext4, where df -B1 says 257573699584 82863751168 161619472384.
    space = parse_statfs("4096 62884204 42653835 39457879\n")

    assert space is not None
    assert space.used_bytes == 82863591424
    assert space.free_bytes == 161619472384
    assert 33.8 < space.used_percent < 34.0


@pytest.mark.parametrize("text", ["", "4096 1 1", "a b c d", "4096 -1 0 0"])
def test_another_text_is_no_space(text: str) -> None:
    assert parse_statfs(text) is None
    assert parse_quota(text) is None


def test_a_quota_is_the_users_own() -> None:
    assert parse_quota("9000 10000\n") == Space(total_bytes=10000, used_bytes=9000, is_quota=True)
    assert parse_quota("9000 0") is None, "0 is how quota programs say that there is no limit"


def test_a_full_folder_has_no_negative_space() -> None:
    space = Space(total_bytes=10, used_bytes=12, is_quota=True)

    assert space.free_bytes == 0
    assert space.used_percent == 120
    assert Space(total_bytes=0, used_bytes=0).used_percent == 0
