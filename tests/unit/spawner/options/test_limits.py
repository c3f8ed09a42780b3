"""How much one user may ask for."""

from __future__ import annotations

import pytest

from spawner.errors import SettingsError
from spawner.options.limits import Limits

SITE = Limits(max_gpus=4, max_walltime_s=24 * 3600, partitions=("jupyter", "big"))


def test_a_group_lowers_the_limits_of_its_users() -> None:
    limits = SITE.for_groups(
        ["students"], {"students": {"max_gpus": 1, "max_hours": 4, "partitions": ["jupyter"]}}
    )

    assert limits.max_gpus == 1
    assert limits.max_walltime_s == 4 * 3600
    assert limits.partitions == ("jupyter",)
    assert limits.first_walltime_s == 4 * 3600


def test_of_several_groups_the_most_generous_counts() -> None:
    group_limits = {"students": {"max_gpus": 1, "max_hours": 4}, "staff": {"max_gpus": 3}}

    limits = SITE.for_groups(["students", "staff"], group_limits)

    assert limits.max_gpus == 3
    assert limits.max_walltime_s == 24 * 3600


def test_who_is_in_several_groups_may_use_the_partitions_of_all_of_them() -> None:
    group_limits = {"students": {"partitions": ["jupyter"]}, "staff": {"partitions": ["big"]}}

    assert SITE.for_groups(["students"], group_limits).partitions == ("jupyter",)
    assert SITE.for_groups(["students", "staff"], group_limits).partitions == ("jupyter", "big")


def test_a_group_never_raises_the_limits_of_the_site() -> None:
    limits = SITE.for_groups(["root"], {"root": {"max_gpus": 99, "max_hours": 99}})

    assert limits == SITE


def test_a_user_in_no_limited_group_has_the_limits_of_the_site() -> None:
    assert SITE.for_groups(["others"], {"students": {"max_gpus": 1}}) is SITE


@pytest.mark.parametrize(
    ("entry", "named"),
    [
        ({"gpus": 1}, "max_gpus, max_hours, partitions"),
        ({"max_gpus": "1"}, "max_gpus"),
        ({"max_gpus": True}, "max_gpus"),
        ({"max_hours": 0}, "max_hours"),
        ({"partitions": "jupyter"}, "partitions"),
        ({"partitions": []}, "partitions"),
        ({"partitions": ["nowhere"]}, "nowhere"),
    ],
    ids=str,
)
def test_a_wrong_entry_of_a_group_is_named(entry: dict[str, object], named: str) -> None:
    with pytest.raises(SettingsError, match=named):
        SITE.for_groups(["students"], {"students": entry})
