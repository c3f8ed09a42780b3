"""From what a user asked for to the plan of a job."""

from typing import Any

import pytest

from dsportal.slurm.errors import OptionsError
from spawner.errors import SettingsError
from spawner.options.offer import Offer, read_limits
from spawner.options.request import SessionRequest, describe_gpus, normal_form, resources_per_gpu
from spawner.options.traits import SiteTraits
from spawner.session.job_plan import make_plan
from spawner.slurm.catalog import Catalog
from spawner.slurm.gres import SHARD
from spawner.slurm.resources import Resources
from tests.unit.spawner.options.test_job_options import node, partition


class Traits(SiteTraits):
    """The operator's settings with batchspawner's."""

    req_partition = ""
    req_account = ""
    req_qos = ""
    req_reservation = ""
    req_options = ""
    req_prologue = ""
    req_epilogue = ""

    def get_args(self) -> list[str]:
        return ["--debug"]


@pytest.fixture
def catalog() -> Catalog:
    return Catalog(
        partitions={
            "jupyter": partition("jupyter", node("n1", {"v100": 4}), is_default=True),
            "dense": partition("dense", node("n2", {"a100": 8}), node("n3", {"a100": 2})),
        }
    )


def request_of(traits: Any, options: dict[str, object], catalog: Catalog) -> SessionRequest:
    return Offer(traits=traits).check(options, catalog)


def plan(traits: Any, options: dict[str, object], catalog: Catalog) -> Any:
    request = request_of(traits, options, catalog)
    return make_plan(traits, request, job_name="dsportal-0", comment="c")


def test_nothing_asked_for_is_one_gpu_for_the_sites_hours(catalog: Catalog) -> None:
    request = request_of(Traits(), {}, catalog)

    assert (request.resources.n_gpus, request.resources.n_cores) == (1, 8)
    assert request.walltime_s == 28800
    assert request.partition is None


def test_cores_are_lowered_where_a_node_could_not_use_all_its_gpus(catalog: Catalog) -> None:
    traits = Traits(partitions=["dense"])

    shape = resources_per_gpu(traits, catalog, n_gpus=4, partition="dense")

    assert shape.cores_per_gpu == 5
    assert "The node n2 has 40 cores" in shape.reason
    assert request_of(traits, {"gpus": 8}, catalog).resources.n_cores == 40


def test_a_partition_may_have_a_rule_of_its_own(catalog: Catalog) -> None:
    traits = Traits(partition_shapes={"dense": {"cores_per_gpu": 2}})

    shape = resources_per_gpu(traits, catalog, n_gpus=1, partition="dense")

    assert (shape.cores_per_gpu, shape.memory_mib_per_gpu) == (2, 384_000 // 8)


def test_a_session_too_long_for_slurms_default_partition_names_no_partition(
    catalog: Catalog,
) -> None:
    traits = Traits(max_session_hours=48)

    with pytest.raises(OptionsError, match="30 hours; a session may last at most 24 hours"):
        request_of(traits, {"hours": 30}, catalog)


def test_batchspawners_partition_is_where_sessions_go(catalog: Catalog) -> None:
    traits = Traits()
    traits.req_partition = "dense"

    assert plan(traits, {"gpus": 8}, catalog).partition == "dense"
    with pytest.raises(OptionsError, match=r"not available to you\. Choose from dense"):
        request_of(traits, {"partition": "jupyter"}, catalog)


def test_batchspawners_settings_are_defaults_of_the_job(catalog: Catalog) -> None:
    traits = Traits(accounts=["physics"])
    traits.req_account, traits.req_qos, traits.req_reservation = "a", "q", "r"
    traits.req_options, traits.req_prologue = "--exclusive", "module load x"

    made = plan(traits, {}, catalog)

    assert made.names == (("account", "a"), ("qos", "q"), ("reservation", "r"))
    assert (made.extra_options, made.prologue) == (("--exclusive",), "module load x")
    assert made.server_argv[-1] == "--debug"
    assert ("account", "physics") in plan(traits, {"account": "physics"}, catalog).names


def test_a_session_shorter_than_the_warning_is_not_warned(catalog: Catalog) -> None:
    traits = Traits(slurm_warning_s=600)

    assert plan(traits, {"hours": "0.1"}, catalog).warning_s == 0
    assert plan(traits, {"hours": "1"}, catalog).warning_s == 600


def test_empty_fields_of_a_form_are_left_out() -> None:
    form = {"gpus": ["2"], "partition": [""], "hours": [], "account": ["a", "b"]}

    assert normal_form(form) == {"gpus": "2", "account": ["a", "b"]}


def test_simulated_gpus_are_called_simulated() -> None:
    assert describe_gpus(1, are_simulated=True) == "1 simulated GPU"
    assert describe_gpus(2, are_simulated=True) == "2 simulated GPUs"
    assert describe_gpus(2, are_simulated=False) == "2 GPUs"
    assert describe_gpus(0, are_simulated=True) == "no GPU"


def test_a_users_own_limit_counts_in_place_of_those_of_groups() -> None:
    traits = Traits(
        group_limits={"students": {"max_gpus": 1}, "staff": {"max_gpus": 4}},
        user_limits={"ada": {"max_gpus": 2, "max_hours": 3}},
    )

    assert read_limits(traits, ["students", "staff"], user="grace").max_gpus == 4
    assert read_limits(traits, ["students", "staff"], user="ada").max_gpus == 2
    assert read_limits(traits, [], user="ada").max_walltime_s == 3 * 3600
    assert read_limits(traits).max_gpus is None


@pytest.mark.parametrize(
    ("asked", "walltime_s"), [({}, 8 * 3600), ({"hours": 24}, 24 * 3600), ({"hours": 1}, 3600)]
)
def test_a_session_lasts_as_long_as_asked_or_as_the_site_says(
    catalog: Catalog, asked: dict[str, object], walltime_s: int
) -> None:
    traits = Traits(max_session_hours=48, session_hours=8)

    assert request_of(traits, asked, catalog).walltime_s == walltime_s


def test_the_sites_default_is_cut_to_what_the_partition_allows(catalog: Catalog) -> None:
    traits = Traits(max_session_hours=48, session_hours=48)

    assert request_of(traits, {}, catalog).walltime_s == 24 * 3600


def test_a_length_that_is_too_long_for_a_partition_names_it(catalog: Catalog) -> None:
    traits = Traits(max_session_hours=48, partitions=["dense"])

    with pytest.raises(OptionsError) as refused:
        request_of(traits, {"hours": 30}, catalog)

    assert str(refused.value) == (
        "You asked for 30 hours; a session in the partition dense may last at most 24 hours. "
        "Ask for a shorter one."
    )


def test_a_rescue_session_is_small_and_of_a_fixed_length(catalog: Catalog) -> None:
    traits = Traits(rescue_hours=0.25, rescue_cores=2, rescue_memory_gib=2, partitions=["dense"])

    request = request_of(traits, {"rescue": "1"}, catalog)

    assert request.resources == Resources(n_gpus=0, n_cores=2, memory_mib=2048)
    assert (request.walltime_s, request.partition) == (900, "dense")
    assert request.options.is_rescue


def test_a_site_without_rescue_sessions_says_so(catalog: Catalog) -> None:
    with pytest.raises(OptionsError) as refused:
        request_of(Traits(rescue_hours=0), {"rescue": "1"}, catalog)

    assert str(refused.value) == ("This site offers no rescue sessions. Ask the administrators.")


def test_the_limits_of_the_site_are_those_of_its_settings() -> None:
    traits = Traits(
        max_gpus=4,
        allow_cpu_only=True,
        session_hours=1,
        max_session_hours=2,
        partitions=["jupyter", "dense"],
        gpu_types=["v100"],
        accounts=["physics"],
    )

    limits = read_limits(traits)

    assert (limits.max_gpus, limits.min_gpus) == (4, 0)
    assert (limits.default_walltime_s, limits.max_walltime_s) == (3600, 7200)
    assert (limits.partitions, limits.gpu_types) == (("jupyter", "dense"), ("v100",))
    assert limits.names("account") == ("physics",)
    assert read_limits(Traits(allow_cpu_only=False)).min_gpus == 1
    assert read_limits(Traits()).partitions == ()


def test_a_refusal_of_a_number_names_what_the_user_can_get(catalog: Catalog) -> None:
    with pytest.raises(OptionsError, match=r"Choose a whole number, 1 to 3\."):
        request_of(Traits(max_gpus=3), {"gpus": "many"}, catalog)


def test_a_rule_of_a_partition_is_fitted_to_nodes_with_enough_gpus(catalog: Catalog) -> None:
    traits = Traits(cores_per_gpu=100, memory_per_gpu_gib=1000)

    # n3 has two GPUs, n2 eight: what a session gets has to fit on any that can hold it.
    assert (
        resources_per_gpu(traits, catalog, n_gpus=4, partition="dense").memory_mib_per_gpu == 48_000
    )
    assert resources_per_gpu(traits, catalog, n_gpus=1, partition="jupyter").cores_per_gpu == 10
    shards = resources_per_gpu(traits, catalog, n_gpus=1, partition="dense", gpu_type=SHARD)
    assert (shards.cores_per_gpu, shards.memory_mib_per_gpu, shards.reason) == (100, 1_024_000, "")


def test_a_rule_with_an_unknown_key_is_shown_whole(catalog: Catalog) -> None:
    traits = Traits(partition_shapes={"dense": {"gpus": 2, "cores": 2}})

    with pytest.raises(SettingsError) as refused:
        resources_per_gpu(traits, catalog, n_gpus=1, partition="dense")

    assert str(refused.value) == (
        "partition_shapes of 'dense' has the keys cores, gpus. "
        "Use cores_per_gpu and memory_mib_per_gpu."
    )


def test_a_session_is_told_the_limits_of_its_user() -> None:
    traits = Traits()
    traits.partitions = ["gpu", "cpu"]
    traits.group_limits = {"students": {"max_gpus": 2, "max_hours": 4, "partitions": ["cpu"]}}

    told = Offer(traits=traits, user="ada", groups=("students",)).told

    assert told == {"max_gpus": 2, "max_hours": 4, "partitions": ["cpu"]}
    # The partitions of the form are no limit of the user's.
    assert set(Offer(traits=traits, user="grace").told) == {"max_hours"}
