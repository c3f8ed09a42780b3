import pytest

from spawner.errors import SlurmError
from spawner.slurm.catalog import Catalog
from spawner.slurm.gres import SHARD, GpuCount
from spawner.slurm.nodes import parse_idle_gpus
from spawner.slurm.resources import ResourcesPerGpu


def line(
    node: str = "node01",
    *,
    partition: str = "jupyter",
    default: bool = True,
    available: str = "up",
    time_limit: str = "1-00:00:00",
    max_cpus_per_node: str = "UNLIMITED",
    state: str = "idle",
    cpus: str = "0/40/0/40",
    memory: str = "384000",
    alloc_memory: str = "0",
    gres: str = "gpu:v100:4",
    gres_used: str = "gpu:v100:0(IDX:N/A)",
) -> str:
    """One line as `SINFO_ARGV` prints it."""
    fields = (
        partition,
        partition + "*" * default,
        available,
        time_limit,
        max_cpus_per_node,
        node,
        f"10.77.0.{int(node[-2:]) + 10}",
        state,
        cpus,
        memory,
        alloc_memory,
        gres,
        gres_used,
    )
    return "|".join(fields) + "|\n"


def test_a_node_is_read_with_its_address_cores_memory_and_gpus() -> None:
    catalog = Catalog.parse(
        line(
            state="mixed", cpus="16/24/0/40", alloc_memory="98304", gres_used="gpu:v100:2(IDX:0-1)"
        )
    )
    (node,) = catalog.nodes()
    assert (node.name, node.address, node.state) == ("node01", "10.77.0.11", "mixed")
    assert (node.n_cores, node.n_cores_used) == (40, 16)
    assert (node.memory_mib, node.memory_used_mib) == (384000, 98304)
    assert node.count_gpus() == GpuCount(total=4, used=2, free=2)


def test_partitions_are_read_with_default_time_limit_and_whether_they_are_up() -> None:
    catalog = Catalog.parse(
        line() + line("node02", partition="long", default=False, time_limit="infinite",
                      available="drain")
    )  # fmt: skip
    jupyter, long = catalog.partitions["jupyter"], catalog.partitions["long"]
    assert catalog.default_partition == "jupyter"
    assert (jupyter.is_default, jupyter.is_up, jupyter.max_walltime_s) == (True, True, 86400)
    assert (long.is_default, long.is_up, long.max_walltime_s) == (False, False, None)


def test_a_cluster_without_partitions_has_no_gpus() -> None:
    catalog = Catalog.parse("\n")
    assert catalog.default_partition is None
    assert catalog.largest_node_gpus() == 0
    assert catalog.count_gpus() == GpuCount()


def test_a_partition_that_slurm_does_not_know_has_no_gpus() -> None:
    assert Catalog.parse(line()).largest_node_gpus("biology") == 0


def test_no_partition_means_the_default_one_as_for_sbatch() -> None:
    catalog = Catalog.parse(
        line("node01", partition="big", default=False, gres="gpu:a100:8") + line("node02")
    )
    assert catalog.largest_node_gpus() == 4
    assert catalog.largest_node_gpus("big") == 8


def test_the_largest_node_counts_all_types_together_or_one_of_them() -> None:
    catalog = Catalog.parse(line(gres="gpu:v100:2,gpu:a100:4") + line("node02"))
    assert catalog.largest_node_gpus() == 6
    assert catalog.largest_node_gpus(gpu_type="v100") == 4
    assert catalog.largest_node_gpus(gpu_type="a100") == 4
    assert catalog.gpu_types() == ("a100", "v100")


def test_shards_are_a_type_and_never_counted_as_gpus() -> None:
    catalog = Catalog.parse(line(gres="gpu:v100:4,shard:v100:16"))
    assert catalog.largest_node_gpus() == 4
    assert catalog.largest_node_gpus(gpu_type=SHARD) == 16
    assert catalog.gpu_types() == (SHARD, "v100")


def test_gpus_without_a_type_have_no_type_to_choose() -> None:
    assert Catalog.parse(line(gres="gpu:4")).gpu_types() == ()


def test_nothing_is_free_in_a_partition_that_starts_no_jobs() -> None:
    catalog = Catalog.parse(line(available="inactive"))
    assert catalog.count_gpus().free == 0
    assert catalog.largest_node_gpus() == 4


@pytest.mark.parametrize(
    ("state", "idle_are"),
    [
        ("idle", "free"),
        ("mixed", "free"),
        ("allocated", "free"),
        ("IDLE+COMPLETING", "free"),
        ("idle+cloud+powered_down", "free"),
        ("idle~", "free"),
        ("idle+cloud+powering_up", "free"),
        ("idle+planned", "planned"),
        ("mixed-", "planned"),
        ("planned", "planned"),
        ("idle+drain", "down"),
        ("mixed+drain", "down"),
        ("drained*", "down"),
        ("draining", "down"),
        ("idle*", "down"),
        ("idle+not_responding", "down"),
        ("down*", "down"),
        ("down", "down"),
        ("down+not_responding", "down"),
        ("idle+invalid_reg", "down"),
        ("idle+reserved", "down"),
        ("idle+maintenance", "down"),
        ("idle+powering_down", "down"),
        ("mixed+planned+drain", "down"),
        ("idle+blocked", "down"),
        ("unknown", "down"),
        ("future", "down"),
        ("inval", "down"),
        ("something_new", "down"),
        ("", "down"),
    ],
)
def test_the_state_of_a_node_says_what_its_idle_gpus_are(state: str, idle_are: str) -> None:
    assert parse_idle_gpus(state) == idle_are


def test_gpus_of_drained_nodes_are_down_but_those_in_use_stay_used() -> None:
    catalog = Catalog.parse(
        line(state="mixed+drain", gres_used="gpu:v100:1(IDX:0)") + line("node02", state="idle")
    )
    assert catalog.count_gpus() == GpuCount(total=8, used=1, free=4, down=3)


def test_free_gpus_without_free_cores_or_memory_do_not_start_a_session() -> None:
    shape = ResourcesPerGpu(cores_per_gpu=8, memory_mib_per_gpu=49152)
    few_cores = line(cpus="28/12/0/40", state="mixed")
    little_memory = line("node02", alloc_memory="250000", state="mixed")
    assert Catalog.parse(few_cores).largest_startable_gpus(shape) == 1
    assert Catalog.parse(little_memory).largest_startable_gpus(shape) == 2
    assert Catalog.parse(few_cores + little_memory).largest_startable_gpus(shape) == 2
    assert Catalog.parse(line()).largest_startable_gpus(shape) == 4


def test_a_partition_may_limit_the_cores_of_a_node() -> None:
    (node,) = Catalog.parse(line(max_cpus_per_node="16")).nodes()
    assert node.n_cores == 16


def test_the_nodes_that_can_hold_a_session_are_found() -> None:
    catalog = Catalog.parse(
        line(gres="gpu:v100:2") + line("node02") + line("node03", gres="(null)")
    )
    assert [node.name for node in catalog.nodes_with(3)] == ["node02"]
    assert [node.name for node in catalog.nodes_with(0)] == ["node01", "node02", "node03"]


@pytest.mark.parametrize(
    "text",
    [
        "slurm_load_partitions: Unable to contact slurm controller\n",
        line() + "jupyter|node02|40\n",
        line(cpus="many"),
        line(memory="n/a"),
        line(time_limit="soon"),
        line(gres="gpu:v100"),
    ],
)
def test_text_that_is_not_sinfos_is_an_error_and_not_an_empty_cluster(text: str) -> None:
    with pytest.raises(SlurmError):
        Catalog.parse(text)
