"""How much one user may ask for."""

from dataclasses import replace

import pytest

from spawner.errors import SettingsError
from spawner.options.limits import Limits
from spawner.slurm.associations import AssociationLimits

SITE = Limits(max_gpus=4, max_walltime_s=24 * 3600, partitions=("jupyter", "big"))


def test_a_group_lowers_the_limits_of_its_users() -> None:
    limits = SITE.for_groups(
        ["students"], {"students": {"max_gpus": 1, "max_hours": 4, "partitions": ["jupyter"]}}
    )

    assert limits.max_gpus == 1
    assert limits.max_walltime_s == 4 * 3600
    assert limits.partitions == ("jupyter",)
    assert limits.first_walltime_s == 4 * 3600


def test_a_group_never_raises_the_limits_of_the_site() -> None:
    limits = SITE.for_groups(["root"], {"root": {"max_gpus": 99, "max_hours": 99}})

    assert limits == SITE


def test_a_user_in_no_limited_group_has_the_limits_of_the_site() -> None:
    assert SITE.for_groups(["others"], {"students": {"max_gpus": 1}}) is SITE


def test_accounting_lowers_the_limits_and_says_whose_limit_it_is() -> None:
    ceiling = AssociationLimits(
        max_gpus=2,
        max_gpus_by_type={"v100": 2, "a100": 1},
        max_walltime_s=3600,
        of="the account research",
    )

    limits = SITE.under(ceiling)

    assert limits == replace(
        SITE,
        max_gpus=2,
        max_gpus_by_type=(("a100", 1), ("v100", 2)),
        max_walltime_s=3600,
        set_by="the account research",
    )
    assert limits.first_walltime_s == 3600


@pytest.mark.parametrize(
    "ceiling",
    [
        AssociationLimits(max_gpus=99, max_walltime_s=99 * 24 * 3600),
        AssociationLimits(max_gpus=99),
        AssociationLimits(max_walltime_s=99 * 24 * 3600),
        AssociationLimits(max_gpus_by_type={}),
    ],
)
def test_accounting_never_raises_the_limits_of_the_site(ceiling: AssociationLimits) -> None:
    assert SITE.under(ceiling) == SITE


def test_without_a_limit_of_the_site_the_one_of_accounting_counts() -> None:
    assert Limits().under(AssociationLimits(max_gpus=3)).max_gpus == 3
    assert Limits().under(AssociationLimits(max_walltime_s=60)).max_gpus is None


def test_the_limit_of_a_type_holds_besides_the_one_of_all_types() -> None:
    limits = Limits(max_gpus=4, max_gpus_by_type=(("a100", 1), ("v100", 8)))

    assert limits.max_gpus_for("a100") == 1
    assert limits.max_gpus_for("v100") == 4
    assert limits.max_gpus_for("t4") == 4
    assert limits.max_gpus_for(None) == 4
    assert Limits(max_gpus_by_type=(("a100", 1),)).max_gpus_for("a100") == 1
    assert Limits().max_gpus_for("a100") is None


def test_several_groups_are_joined_key_by_key() -> None:
    group_limits: dict[str, dict[str, object]] = {
        "students": {"max_gpus": 1, "max_hours": 4, "partitions": ["jupyter"]},
        "tutors": {"max_gpus": 2, "max_hours": 2, "partitions": ["jupyter"]},
        "staff": {"max_hours": 0.5},
    }

    two = SITE.for_groups(["students", "tutors"], group_limits)
    three = SITE.for_groups(["students", "tutors", "staff"], group_limits)

    assert (two.max_gpus, two.max_walltime_s, two.partitions) == (2, 4 * 3600, ("jupyter",))
    assert (three.max_gpus, three.max_walltime_s, three.partitions) == (
        4,
        4 * 3600,
        ("jupyter", "big"),
    )
    assert SITE.for_groups(["staff"], group_limits).max_walltime_s == 1800


def test_a_group_may_be_without_gpus_and_limits_a_site_that_has_no_limit() -> None:
    assert SITE.for_groups(["guests"], {"guests": {"max_gpus": 0}}).max_gpus == 0
    assert Limits().for_groups(["guests"], {"guests": {"max_gpus": 1}}).max_gpus == 1


def test_a_site_without_partitions_offers_those_of_the_group() -> None:
    limits = Limits().for_groups(["students"], {"students": {"partitions": ("big", "jupyter")}})

    assert limits.partitions == ("big", "jupyter")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"gpus": 1}, "Unknown limit 'gpus' for 'students'. Use max_gpus, max_hours, partitions."),
        ({"max_gpus": -1}, "max_gpus of 'students' is -1; give a whole number, 0 or more."),
        ({"max_gpus": True}, "max_gpus of 'students' is True; give a whole number, 0 or more."),
        ({"max_hours": 0}, "max_hours of 'students' is 0; give a number above 0."),
        ({"partitions": []}, "partitions of 'students' is []; give a list of names."),
        ({"partitions": "jupyter"}, "partitions of 'students' is 'jupyter'; give a list of names."),
        ({"max_hours": "4"}, "max_hours of 'students' is '4'; give a number above 0."),
        ({"max_hours": True}, "max_hours of 'students' is True; give a number above 0."),
        ({"partitions": [1]}, "partitions of 'students' is [1]; give a list of names."),
        (
            {"partitions": ["nowhere", "else"]},
            "A group may use only nowhere, else, but the site offers jupyter, big. Name an offered "
            "partition in the group's limits.",
        ),
    ],
    ids=str,
)
def test_a_wrong_entry_says_what_to_give(entry: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError) as refused:
        SITE.for_groups(["students"], {"students": entry})

    assert str(refused.value) == message
