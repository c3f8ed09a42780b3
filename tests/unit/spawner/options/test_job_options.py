"""What one user asked for, by form and by REST."""

import pytest

from dsportal.slurm.errors import OptionsError
from spawner.options.job_options import JobOptions, most_gpus
from spawner.options.limits import Limits
from spawner.settings.resources import ResourceSettings
from spawner.slurm.catalog import Catalog, Partition
from spawner.slurm.gres import GpuCount
from spawner.slurm.nodes import Node

HOSTILE = [
    "1;id",
    "$(id)",
    "`id`",
    "1\n2",
    "1 2",
    "--gres=gpu:8",
    "'",
    '"',
    "\\",
    "\x00",
    "%j",
    "ü",
    "1" * 300,
    "x" * 300,
    "../../etc/passwd",
]

SHAPE = ResourceSettings().per_gpu


def node(name: str, gpus: dict[str, int]) -> Node:
    return Node(
        name=name,
        address=name,
        state="idle",
        idle_are="free",
        n_cores=40,
        n_cores_used=0,
        memory_mib=384_000,
        memory_used_mib=0,
        gpus={kind: GpuCount(total=n, free=n) for kind, n in gpus.items()},
    )


def partition(name: str, *nodes: Node, is_default: bool = False) -> Partition:
    return Partition(
        name=name, is_default=is_default, is_up=True, max_walltime_s=86400, nodes=nodes
    )


@pytest.fixture
def catalog() -> Catalog:
    return Catalog(
        partitions={
            "jupyter": partition("jupyter", node("n1", {"v100": 4}), is_default=True),
            "big": partition("big", node("n2", {"a100": 8, "1g.5gb": 2})),
        }
    )


@pytest.mark.parametrize("value", [2, "2", ["2"], [2]], ids=repr)
def test_two_gpus_may_be_written_as_json_and_as_a_form_writes_them(value: object) -> None:
    assert JobOptions.parse({"gpus": value}).n_gpus == 2


@pytest.mark.parametrize("mapping", [{}, {"gpus": ""}, {"gpus": []}, {"gpus": [""]}], ids=repr)
def test_no_choice_means_one_gpu_and_the_defaults_of_the_site(mapping: dict[str, object]) -> None:
    assert JobOptions.parse(mapping) == JobOptions(n_gpus=1)


@pytest.mark.parametrize(
    "value",
    ["two", 1.5, 2.0, True, None, [1, 2], {"a": 1}, -1, "-1", "+1", " 1", "1.0", "٢", *HOSTILE],
    ids=repr,
)
def test_what_is_no_number_of_gpus_is_refused_with_the_limit_and_the_next_step(
    value: object,
) -> None:
    with pytest.raises(OptionsError) as caught:
        JobOptions.parse({"gpus": value}, max_gpus=4)

    assert "GPUs" in caught.value.message
    assert "Choose a whole number, 1 to 4." in caught.value.message
    assert len(caught.value.message) < 300


@pytest.mark.parametrize("key", ["gpu_type", "partition", "account", "qos", "reservation"])
@pytest.mark.parametrize("value", [*HOSTILE, 3, True, None, ["a", "b"], {"a": 1}], ids=repr)
def test_a_hostile_name_is_refused(key: str, value: object, catalog: Catalog) -> None:
    # Slurm's own lists decide which names there are.
    with pytest.raises(OptionsError, match=f"{key}|You asked for"):
        JobOptions.parse({key: value}).check(catalog, Limits(), SHAPE)


@pytest.mark.parametrize("name", ["physics+astro", "a b", "ü@x"])
def test_a_name_that_slurm_lists_is_offered_whatever_its_letters(
    name: str, catalog: Catalog
) -> None:
    options = JobOptions.parse({"account": name})

    options.check(catalog, Limits(listed={"account": (name,)}), SHAPE)

    assert options.name("account") == name


@pytest.mark.parametrize(
    "value", [*HOSTILE, 0, 0.01, "0.01", -1, True, None, "nan", "inf", 1e9], ids=repr
)
def test_a_hostile_length_is_refused(value: object) -> None:
    with pytest.raises(OptionsError, match="hours"):
        JobOptions.parse({"hours": value})


@pytest.mark.parametrize("value", [1.5, "1.5", ["1.5"]], ids=repr)
def test_hours_may_have_a_fraction(value: object) -> None:
    assert JobOptions.parse({"hours": value}).walltime_s == 5400


@pytest.mark.parametrize(
    "key", ["runtime", "gres", "options", "prologue", "exec_prefix", "GPUS", "", "n_gpus"]
)
def test_an_option_that_does_not_exist_is_refused(key: str) -> None:
    with pytest.raises(OptionsError, match="no option"):
        JobOptions.parse({"gpus": 1, key: "x"})


def test_sessions_without_a_gpu_are_for_sites_that_allow_them(catalog: Catalog) -> None:
    resources = JobOptions(n_gpus=0).check(catalog, Limits(min_gpus=0), SHAPE)

    assert resources.n_gpus == 0


def test_a_gpu_type_may_be_in_another_partition_than_slurms_default(catalog: Catalog) -> None:
    limits = Limits(partitions=("jupyter", "big"))

    JobOptions(gpu_type="a100").check(catalog, limits, SHAPE)
    with pytest.raises(OptionsError, match="the cluster has none"):
        JobOptions(gpu_type="a100").check(catalog, Limits(), SHAPE)


SITE = Limits(
    max_gpus=6,
    max_walltime_s=8 * 3600,
    partitions=("jupyter", "big"),
    gpu_types=("v100", "a100", "t4"),
    max_gpus_by_type=(("a100", 3),),
    set_by="the account research",
)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            {"partition": "other"},
            "You asked for the partition other, which is not available to you. "
            "Choose from jupyter, big.",
        ),
        (
            {"account": "physics"},
            "You asked for the account physics, but this site does not let users choose one. "
            "Leave the option out.",
        ),
        (
            {"gpu_type": "h100"},
            "You asked for the GPU type h100, which is not available to you. "
            "Choose from v100, a100, t4.",
        ),
        (
            {"gpu_type": "a100", "partition": "jupyter"},
            "You asked for a GPU of type a100; the partition jupyter has none. "
            "Choose another type, or leave the option out to get any.",
        ),
        (
            {"gpu_type": "t4"},
            "You asked for a GPU of type t4; the cluster has none. "
            "Choose another type, or leave the option out to get any.",
        ),
        (
            {"gpus": 5, "partition": "jupyter"},
            "You asked for 5 GPUs; in the partition jupyter the largest node has 4. "
            "Choose 1 to 4 GPUs.",
        ),
        (
            {"gpus": 7},
            "You asked for 7 GPUs; in the cluster you may use 6 (limit of the account research). "
            "Choose 1 to 6 GPUs.",
        ),
        (
            {"gpus": 4, "gpu_type": "a100", "partition": "big"},
            "You asked for 4 GPUs; in the partition big (GPU type a100) you may use 3 "
            "(limit of the account research). Choose 1 to 3 GPUs.",
        ),
        (
            {"gpus": 0},
            "You asked for 0 GPUs; in the cluster you may use 6 (limit of the account research). "
            "Choose 1 to 6 GPUs.",
        ),
        (
            {"hours": 9},
            "You asked for 9 hours; a session may last at most 8 hours "
            "(limit of the account research). Ask for a shorter one.",
        ),
    ],
    ids=str,
)
def test_a_refusal_says_what_was_asked_the_limit_and_whose_it_is(
    catalog: Catalog, asked: dict[str, object], message: str
) -> None:
    with pytest.raises(OptionsError) as refused:
        JobOptions.parse(asked).check(catalog, SITE, SHAPE)

    assert str(refused.value) == message


def test_who_may_use_no_gpu_in_a_partition_is_told_to_choose_another(catalog: Catalog) -> None:
    limits = Limits(partitions=("jupyter", "big"), max_gpus_by_type=(("a100", 0),))
    asked = JobOptions.parse({"gpu_type": "a100", "partition": "big"})

    with pytest.raises(OptionsError) as refused:
        asked.check(catalog, limits, SHAPE)

    assert str(refused.value) == (
        "You asked for 1 GPU, but you may not use any in the partition big (GPU type a100). "
        "Choose another partition or GPU type, or ask the administrators."
    )


def test_the_last_allowed_length_and_number_are_allowed(catalog: Catalog) -> None:
    asked = JobOptions.parse({"gpus": "3", "gpu_type": "a100", "partition": "big", "hours": 8})

    assert asked.check(catalog, SITE, SHAPE).n_gpus == 3


def test_the_most_gpus_are_those_of_the_type_the_place_and_the_limit(catalog: Catalog) -> None:
    assert most_gpus(catalog, SITE) == 6
    assert most_gpus(catalog, SITE, gpu_type="a100") == 3
    assert most_gpus(catalog, SITE, gpu_type="v100") == 4
    assert most_gpus(catalog, SITE, gpu_type="v100", partition="big") == 0
    assert most_gpus(catalog, SITE, partition="jupyter") == 4
    assert most_gpus(catalog, Limits(), partition="big", gpu_type="1g.5gb") == 2
    assert most_gpus(catalog, Limits()) == 4
    assert most_gpus(catalog, Limits(partitions=("jupyter", "big"))) == 10


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            {"gpu": 1},
            "A session has no option 'gpu'. Valid options: ",
        ),
        (
            {"hours": ["1", "2"]},
            "The option hours was given 2 times: ['1', '2']. Give it once, with one value.",
        ),
        (
            {"gpu_type": None},
            "The option gpu_type was given no value (null). Leave the option out for the site's "
            "default, or give a value.",
        ),
        (
            {"gpus": 1.5},
            "You asked for 1.5 GPUs, which is not a number of GPUs that a session can have. "
            "Choose a whole number, 1 to 4.",
        ),
        (
            {"gpus": 10**6},
            "You asked for 1000000 GPUs, which is not a number of GPUs that a session can have. "
            "Choose a whole number, 1 to 4.",
        ),
        (
            {"gpus": None},
            "You asked for null GPUs, which is not a number of GPUs that a session can have. "
            "Choose a whole number, 1 to 4.",
        ),
        (
            {"hours": "soon"},
            "You asked for 'soon' hours, which is not a length that a session can have. "
            "Give a number of hours such as 8 or 1.5.",
        ),
        (
            {"partition": "a,b"},
            "The option partition was given as 'a,b', which is not one name. "
            "Give a name without commas and control characters that does not begin with a dash.",
        ),
        (
            {"rescue": "1", "gpus": "1", "hours": "2"},
            "The option rescue was given as '1', with gpus, hours. A rescue session has no GPU and "
            "a fixed length: give rescue as 1 or true, without gpus, gpu_type and hours.",
        ),
        (
            {"rescue": "yes"},
            "The option rescue was given as 'yes'. A rescue session has no GPU and "
            "a fixed length: give rescue as 1 or true, without gpus, gpu_type and hours.",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_read_is_shown_with_what_can(asked: dict[str, object], message: str) -> None:
    with pytest.raises(OptionsError) as refused:
        JobOptions.parse(asked, max_gpus=4)

    assert str(refused.value).startswith(message)
    assert len(str(refused.value)) == len(message) or message.endswith("options: ")


def test_without_a_known_limit_any_number_from_one_is_proposed() -> None:
    with pytest.raises(OptionsError, match="Choose a whole number, 1 or more"):
        JobOptions.parse({"gpus": "many"})


def test_a_long_value_is_shown_in_part() -> None:
    with pytest.raises(OptionsError) as refused:
        JobOptions.parse({"partition": "x" * 500})

    assert "…, which is not one name" in str(refused.value)
    assert len(str(refused.value)) < 250


def test_a_rescue_session_has_no_gpu() -> None:
    for value in ("1", True):
        options = JobOptions.parse({"rescue": value})
        assert (options.n_gpus, options.is_rescue, options.walltime_s) == (0, True, None)
    for value in ("0", False, ""):
        assert not JobOptions.parse({"rescue": value}).is_rescue


def test_the_shortest_and_the_longest_session_that_can_be_asked_for() -> None:
    assert JobOptions.parse({"hours": 1 / 60}).walltime_s == 60
    assert JobOptions.parse({"hours": "10000"}).walltime_s == 36_000_000
    for hours in (0.016, 10_001, 10**400):
        with pytest.raises(OptionsError, match="not a length"):
            JobOptions.parse({"hours": hours})


def test_the_first_partition_with_a_node_for_the_request_is_chosen(catalog: Catalog) -> None:
    def chosen(asked: dict[str, object], limits: Limits = SITE) -> str | None:
        return JobOptions.parse(asked).choose_partition(catalog, limits)

    assert chosen({"gpus": 4}) == "jupyter"
    assert chosen({"gpus": 5}) == "big"
    assert chosen({"gpu_type": "a100"}) == "big"
    assert chosen({"gpus": 2, "gpu_type": "v100"}) == "jupyter"
    assert chosen({"gpus": 11}) == "jupyter", "the check names the limit"
    assert chosen({"gpus": 5, "partition": "jupyter"}) == "jupyter"
    assert chosen({"gpus": 5}, Limits()) is None
