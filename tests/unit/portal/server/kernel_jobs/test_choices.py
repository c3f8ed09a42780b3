"""What the dialog of a kernel's button offers."""

import pytest

from dsportal.slurm.errors import OptionsError
from portal.server.kernel_jobs.choices import list_choices
from portal.server.kernel_jobs.request import parse_request
from portal.settings.kernel_jobs import KernelJobSettings
from spawner.options.limits import Limits
from spawner.settings.resources import ResourceSettings
from spawner.slurm.catalog import Catalog
from tests.unit.spawner.options.test_job_options import node, partition

CATALOG = Catalog(
    partitions={
        "gpu": partition("gpu", node("n1", {"v100": 4, "shard": 8}), node("n2", {"a100": 2})),
        "cpu": partition("cpu", node("n3", {})),
    }
)
SHAPE = ResourceSettings().per_gpu


def test_types_and_numbers_are_those_of_the_partition_within_the_users_limit() -> None:
    settings = KernelJobSettings()

    free = list_choices(CATALOG, Limits(), SHAPE, "gpu", settings)
    limited = list_choices(CATALOG, Limits(max_gpus=3), SHAPE, "gpu", settings)

    assert free["gpus"] == {"": 4, "a100": 2, "shard": 8, "v100": 4}
    assert limited["gpus"] == {"": 3, "a100": 2, "shard": 3, "v100": 3}


@pytest.mark.parametrize("max_hours", [0.1, 2, 5 / 3, 30])
def test_every_length_that_is_offered_is_accepted_up_to_the_limit(max_hours: float) -> None:
    settings = KernelJobSettings(hours=2, max_hours=max_hours)

    offered = list_choices(CATALOG, Limits(), SHAPE, "gpu", settings)

    values = [value for value, _ in offered["hours"]]
    lengths_s = [parse_request(1, value, settings).walltime_s for value in values]
    assert max(lengths_s) == round(max_hours * 3600)
    assert offered["first_hours"] in values


def test_who_can_have_no_gpu_is_told_why() -> None:
    with pytest.raises(OptionsError, match="the largest node of the partition cpu has 0"):
        list_choices(CATALOG, Limits(), SHAPE, "cpu", KernelJobSettings())
