"""The resources that come with each GPU."""

import pytest

from dsportal.slurm.errors import OptionsError
from spawner.errors import SettingsError
from spawner.settings.resources import ResourceSettings
from spawner.slurm.resources import ResourcesPerGpu


def test_two_gpus_come_with_16_cores_and_96_gb() -> None:
    resources = ResourceSettings().per_gpu.resources(2)

    assert (resources.n_gpus, resources.n_cores, resources.memory_mib) == (2, 16, 2 * 48 * 1024)


def test_a_session_without_a_gpu_gets_a_small_share_of_its_own() -> None:
    resources = ResourceSettings().per_gpu.resources(0)

    assert (resources.n_gpus, resources.n_cores, resources.memory_mib) == (0, 2, 8 * 1024)


def test_a_negative_number_of_gpus_is_refused() -> None:
    with pytest.raises(OptionsError, match="the least is 0"):
        ResourceSettings().per_gpu.resources(-1)


def test_a_shape_without_cores_is_a_wrong_setting() -> None:
    with pytest.raises(SettingsError, match="cores_per_gpu"):
        ResourcesPerGpu(cores_per_gpu=0, memory_mib_per_gpu=1)


def test_a_large_node_leaves_the_rule_as_it_is() -> None:
    shape = ResourceSettings().per_gpu

    assert shape.fitted(where="n", n_gpus=4, n_cores=40, memory_mib=384_000) is shape


def test_a_small_node_lowers_the_rule_so_that_no_gpu_is_stranded_and_says_why() -> None:
    shape = ResourceSettings().per_gpu.fitted(
        where="The node n1", n_gpus=8, n_cores=32, memory_mib=256 * 1024
    )

    assert shape.resources(8).n_cores <= 32
    assert shape.resources(8).memory_mib <= 256 * 1024
    assert "The node n1 has 32 cores and 256 GB for 8 GPUs" in shape.reason


def test_a_node_without_gpus_changes_nothing() -> None:
    shape = ResourceSettings().per_gpu

    assert shape.fitted(where="n", n_gpus=0, n_cores=1, memory_mib=1) is shape
