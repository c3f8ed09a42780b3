"""What Slurm's accounting lets users have."""

import pytest

from dsportal.slurm.errors import OptionsError
from spawner.errors import SlurmError
from spawner.options.offer import Offer
from spawner.slurm.associations import AssociationLimits, Associations
from spawner.slurm.catalog import Catalog
from tests.unit.spawner.options.test_job_options import node, partition
from tests.unit.spawner.options.test_request import Traits

USERS = """\
ada|research|research||long,normal|||12:00:00|
ada|research|teaching||normal|normal|gres/gpu=1|04:00:00|
grace|research|research|jupyter|normal||gres/gpu=2,gres/gpu:a100=1||gres/gpu=8
grace|research|research|dense|normal||||gres/gpu=8
mary||||||||
linus|||||||00:00:00|
joan|thesis|thesis||small|||1-00:00:00|cpu=80
"""
QOS = """\
normal||||
long||gres/gpu=2||7-00:00:00
small|gres/gpu=3|gres/gpu=2|gres/gpu=16|02:00:00
"""


@pytest.fixture
def associations() -> Associations:
    return Associations.parse(USERS, QOS)


@pytest.fixture
def catalog() -> Catalog:
    return Catalog(
        partitions={
            "jupyter": partition("jupyter", node("n1", {"v100": 4, "a100": 2}), is_default=True),
            "dense": partition("dense", node("n2", {"a100": 8})),
        }
    )


def test_accounts_come_with_the_default_one_first(associations: Associations) -> None:
    assert associations.accounts("ada") == ("research", "teaching")
    assert associations.accounts("mary") == ()
    assert associations.allowed_qos("ada") == ("long", "normal")


def test_the_account_that_is_named_sets_the_limit(associations: Associations) -> None:
    assert associations.ceiling("ada").max_walltime_s == 12 * 3600
    assert associations.ceiling("ada").max_gpus is None
    teaching = associations.ceiling("ada", account="teaching")
    assert (teaching.max_gpus, teaching.max_walltime_s) == (1, 4 * 3600)
    assert teaching.of == "the account teaching"


def test_a_quality_of_service_lowers_the_limit_further(associations: Associations) -> None:
    assert associations.ceiling("ada", qos="long").max_gpus == 2
    assert associations.ceiling("ada", qos="long").max_walltime_s == 12 * 3600
    joan = associations.ceiling("joan")
    assert (joan.max_gpus, joan.max_walltime_s) == (2, 7200), "her only QOS is the one she gets"
    assert joan.of == "the account thesis and the QOS small"


def test_an_association_for_one_partition_says_nothing_of_others(
    associations: Associations,
) -> None:
    assert associations.ceiling("grace", partition="jupyter").max_gpus == 2
    assert associations.ceiling("grace", partition="jupyter").max_gpus_by_type == {"a100": 1}
    assert associations.ceiling("grace", partition="dense").max_gpus == 8
    assert associations.ceiling("grace").max_gpus == 8, "before a partition is chosen"


def test_users_whom_the_hub_does_not_see_have_no_limits_here(associations: Associations) -> None:
    assert associations.ceiling("nobody") == AssociationLimits()
    offer = Offer(traits=Traits(accounts=["a"]), user="nobody", associations=associations)
    assert offer.limits == offer.granted


def test_a_line_that_is_something_else_is_an_error_in_words() -> None:
    with pytest.raises(SlurmError, match="cannot be read"):
        Associations.parse("ada|research", "")
    with pytest.raises(SlurmError, match="cannot be read"):
        Associations.parse("", "normal||||soon")


def test_only_accounts_and_qos_that_slurm_would_take_are_offered(
    associations: Associations,
) -> None:
    traits = Traits(accounts=["research", "thesis"], qos=["long", "small"])

    limits = Offer(traits=traits, user="ada", associations=associations).limits

    assert limits.names("account") == ("research",)
    assert limits.names("qos") == ("long",)


def test_a_request_above_the_limit_of_an_account_is_refused_with_its_name(
    associations: Associations, catalog: Catalog
) -> None:
    traits = Traits(accounts=["research", "teaching"])
    offer = Offer(traits=traits, user="ada", associations=associations)

    request = offer.check({"gpus": "4"}, catalog)
    assert request.resources.n_gpus == 4
    with pytest.raises(OptionsError, match=r"you may use 1 \(limit of the account teaching\)"):
        offer.check({"gpus": "4", "account": "teaching"}, catalog)
    with pytest.raises(OptionsError, match=r"at most 12 hours \(limit of the account research\)"):
        offer.check({"hours": "20"}, catalog)


def test_a_limit_on_one_type_holds_for_that_type(
    associations: Associations, catalog: Catalog
) -> None:
    traits = Traits(partitions=["jupyter"])
    offer = Offer(traits=traits, user="grace", associations=associations)

    assert offer.check({"gpus": "2", "gpu_type": "v100"}, catalog)
    with pytest.raises(OptionsError, match="you may use 1"):
        offer.check({"gpus": "2", "gpu_type": "a100"}, catalog)


def test_a_default_length_above_the_limit_becomes_the_limit(
    associations: Associations, catalog: Catalog
) -> None:
    offer = Offer(traits=Traits(), user="joan", associations=associations)

    assert offer.check({}, catalog).walltime_s == 7200
