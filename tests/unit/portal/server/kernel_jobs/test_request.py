"""What users may ask for a kernel."""

import json

import pytest

from dsportal.slurm.errors import OptionsError
from portal.server.kernel_jobs.request import (
    check_request,
    list_choices,
    parse_request,
    read_limits,
)
from portal.settings.kernel_jobs import KernelJobSettings
from spawner.options.limits import Limits
from spawner.session_settings import VARIABLE
from spawner.settings.resources import ResourceSettings
from spawner.slurm.catalog import Catalog
from tests.unit.spawner.options.test_job_options import node, partition

SETTINGS = KernelJobSettings(hours=2, max_hours=8)
CATALOG = Catalog(
    partitions={"gpu": partition("gpu", node("n1", {"v100": 4, "a100": 2}), is_default=True)}
)


@pytest.mark.parametrize(
    ("gpus", "hours", "asked"),
    [
        (2, None, (2, "", 7200)),
        ("2", "", (2, "", 7200)),
        ("v100:2", "3", (2, "v100", 10800)),
        ("0", 0.5, (0, "", 1800)),
    ],
)
def test_a_number_or_a_type_with_a_number_is_a_request(
    gpus: object, hours: object, asked: tuple[int, str, int]
) -> None:
    request = parse_request(gpus, hours, SETTINGS)

    assert (request.n_gpus, request.gpu_type, request.walltime_s) == asked


@pytest.mark.parametrize(
    "gpus", ["", "many", "-1", "1.5", "a,b:1", "--uid=0:1", "²", None, True, [2]], ids=repr
)
def test_what_is_no_number_of_gpus_is_refused_with_an_example(gpus: object) -> None:
    with pytest.raises(OptionsError, match="%gpu v100:2"):
        parse_request(gpus, None, SETTINGS)


@pytest.mark.parametrize("hours", ["nan", "-1", "0", "soon", True], ids=repr)
def test_what_is_no_length_is_refused(hours: object) -> None:
    with pytest.raises(OptionsError, match="not a length"):
        parse_request(1, hours, SETTINGS)


def test_more_hours_than_the_site_gives_are_refused_with_the_limit() -> None:
    with pytest.raises(OptionsError, match="at most 8 hours"):
        parse_request(1, "9", SETTINGS)


def test_more_gpus_than_a_node_has_are_refused_with_what_there_is() -> None:
    shape = ResourceSettings().per_gpu

    with pytest.raises(
        OptionsError, match=r"the partition gpu has 2\. It has the types a100, v100"
    ):
        check_request(parse_request("a100:3", None, SETTINGS), CATALOG, Limits(), shape, "gpu")


def test_a_session_and_its_kernels_hold_no_more_together_than_the_user_may() -> None:
    request, shape = parse_request(2, None, SETTINGS), ResourceSettings().per_gpu

    check_request(request, CATALOG, Limits(max_gpus=3), shape, "gpu", n_held=1)
    with pytest.raises(OptionsError, match="hold 2, and may hold 3 together"):
        check_request(request, CATALOG, Limits(max_gpus=3), shape, "gpu", n_held=2)


def test_each_gpu_comes_with_what_the_smallest_node_has_for_it() -> None:
    shape = check_request(
        parse_request(2, None, SETTINGS), CATALOG, Limits(), ResourceSettings().per_gpu, "gpu"
    )

    # 40 cores for six GPUs.
    assert shape.cores_per_gpu == 6


@pytest.mark.parametrize(
    ("told", "refusal"),
    [
        ({"max_gpus": 2}, r"asked for 3 GPUs; in the partition gpu you may use 2\."),
        ({"max_gpus": 0}, r"in the partition gpu you may use 0\."),
        ({"partitions": ["cpu"]}, "the partition gpu, which is not available to you"),
    ],
)
def test_the_limits_that_the_hub_tells_hold_for_a_kernel(
    told: dict[str, object], refusal: str
) -> None:
    limits = read_limits({VARIABLE: json.dumps({"limits": told})}, SETTINGS)
    request = parse_request(3, None, SETTINGS)

    with pytest.raises(OptionsError, match=refusal):
        check_request(request, CATALOG, limits, ResourceSettings().per_gpu, "gpu")


@pytest.mark.parametrize(
    ("told", "hours"), [({}, 8), ({"max_hours": 4}, 4), ({"max_hours": 24}, 8)]
)
def test_the_shorter_of_the_limits_of_kernels_and_of_the_user_counts(
    told: dict[str, object], hours: int
) -> None:
    limits = read_limits({VARIABLE: json.dumps({"limits": told})}, SETTINGS)

    assert limits.max_walltime_s == hours * 3600


TWO_PARTITIONS = Catalog(
    partitions={
        "gpu": partition("gpu", node("n1", {"v100": 4, "shard": 8}), node("n2", {"a100": 2})),
        "cpu": partition("cpu", node("n3", {})),
    }
)
SHAPE = ResourceSettings().per_gpu


def test_types_and_numbers_are_those_of_the_partition_within_the_users_limit() -> None:
    settings = KernelJobSettings()

    free = list_choices(TWO_PARTITIONS, Limits(), SHAPE, "gpu", settings)
    limited = list_choices(TWO_PARTITIONS, Limits(max_gpus=3), SHAPE, "gpu", settings)

    assert free["gpus"] == {"": 4, "a100": 2, "shard": 8, "v100": 4}
    assert limited["gpus"] == {"": 3, "a100": 2, "shard": 3, "v100": 3}


@pytest.mark.parametrize("max_hours", [0.1, 2, 5 / 3, 30])
def test_every_length_that_is_offered_is_accepted_up_to_the_limit(max_hours: float) -> None:
    settings = KernelJobSettings(hours=2, max_hours=max_hours)

    offered = list_choices(TWO_PARTITIONS, Limits(), SHAPE, "gpu", settings)

    values = [value for value, _ in offered["hours"]]
    lengths_s = [parse_request(1, value, settings).walltime_s for value in values]
    assert max(lengths_s) == round(max_hours * 3600)
    assert offered["first_hours"] in values


def test_who_can_have_no_gpu_is_told_why() -> None:
    with pytest.raises(OptionsError, match="the largest node of the partition cpu has 0"):
        list_choices(TWO_PARTITIONS, Limits(), SHAPE, "cpu", KernelJobSettings())
