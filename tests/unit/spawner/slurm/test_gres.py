import pytest
from hypothesis import given
from hypothesis import strategies as st

from spawner.errors import SlurmError
from spawner.slurm.gres import SHARD, UNTYPED, GpuCount, count_gpus, parse_gres


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        pytest.param("gpu:v100:4", {"v100": 4}, id="typed"),
        pytest.param("gpu:v100:4(S:0-1)", {"v100": 4}, id="with-sockets"),
        pytest.param("gpu:4", {UNTYPED: 4}, id="untyped"),
        pytest.param("gpu:(null):4(S:0)", {UNTYPED: 4}, id="untyped-as-null"),
        pytest.param("gpu:v100:2,gpu:a100:2", {"v100": 2, "a100": 2}, id="two-types"),
        pytest.param("gpu:1g.10gb:7", {"1g.10gb": 7}, id="mig-profile-with-dot"),
        pytest.param(
            "gpu:a100_1g.5gb:4(S:0,1),gpu:a100_3g.20gb:1(S:0,1)",
            {"a100_1g.5gb": 4, "a100_3g.20gb": 1},
            id="mig-profiles-with-comma-in-sockets",
        ),
        pytest.param("gpu:v100:4,shard:v100:16(S:0)", {"v100": 4, SHARD: 16}, id="shards"),
        pytest.param("gpu:v100:2(S:0),gpu:v100:2(S:1)", {"v100": 4}, id="one-type-in-two-items"),
        pytest.param("gpu:v100:no_consume:4", {"v100": 4}, id="no-consume"),
        pytest.param("gres/gpu:v100:4", {"v100": 4}, id="trackable-resource-form"),
        pytest.param("craynetwork:4,hbm:16G,gpu:2", {UNTYPED: 2}, id="other-resources-beside"),
        pytest.param("(null)", {}, id="none"),
        pytest.param("", {}, id="empty"),
    ],
)
def test_gpus_of_a_node_are_counted_by_type(text: str, gpus: dict[str, int]) -> None:
    assert parse_gres(text) == gpus


@pytest.mark.parametrize("text", ["gpu", "gpu:v100", "gpu:v100:x", "gpu:v100:-1"])
def test_a_gres_without_its_number_is_an_error_and_not_zero_gpus(text: str) -> None:
    with pytest.raises(SlurmError, match=r"slurm\.conf"):
        parse_gres(text)


@pytest.mark.parametrize(
    ("gres", "gres_used", "used"),
    [
        pytest.param("gpu:v100:4", "gpu:v100:2(IDX:0-1)", {"v100": 2}, id="typed"),
        pytest.param("gpu:v100:4", "gpu:v100:0(IDX:N/A)", {"v100": 0}, id="idle"),
        pytest.param("gpu:4", "gpu:(null):1(IDX:0)", {UNTYPED: 1}, id="untyped"),
        pytest.param("gpu:4", "gpu:3", {UNTYPED: 3}, id="untyped-without-index"),
        pytest.param("gpu:1g.10gb:7", "gpu:1g.10gb:2(IDX:0,3)", {"1g.10gb": 2}, id="mig"),
        pytest.param("gpu:v100:4", "(null)", {"v100": 0}, id="nothing-reported"),
        pytest.param("gpu:v100:4", "gpu:v100:5", {"v100": 4}, id="never-more-than-there-are"),
        pytest.param(
            "gpu:v100:4,shard:v100:16",
            "gpu:v100:0(IDX:N/A),shard:v100:5(4/4,1/4,0/4,0/4)",
            {"v100": 2, SHARD: 5},
            id="gpus-with-a-shard-taken-are-used",
        ),
        pytest.param(
            "gpu:v100:2,shard:v100:8",
            "gpu:v100:0(IDX:N/A),shard:v100:1(IDX:0)",
            {"v100": 1, SHARD: 4},
            id="22.05-says-only-on-which-gpus-shards-are-taken",
        ),
        pytest.param(
            "gpu:v100:2,shard:v100:8",
            "gpu:v100:0(IDX:N/A),shard:v100:0(IDX:N/A)",
            {"v100": 0, SHARD: 0},
            id="no-shard-taken",
        ),
        pytest.param(
            "gpu:v100:4,shard:v100:16",
            "gpu:v100:1(IDX:0),shard:v100:0(0/4,0/4,0/4,0/4)",
            {"v100": 1, SHARD: 4},
            id="shards-of-a-taken-gpu-are-used",
        ),
    ],
)
def test_taken_gpus_are_counted_by_type(gres: str, gres_used: str, used: dict[str, int]) -> None:
    counts = count_gpus(gres, gres_used, idle_are="free")
    assert {gpu_type: count.used for gpu_type, count in counts.items()} == used
    assert all(count.free == count.total - count.used for count in counts.values())


def test_idle_gpus_of_a_node_that_takes_no_jobs_are_not_free() -> None:
    counts = count_gpus("gpu:v100:4", "gpu:v100:1(IDX:0)", idle_are="down")
    assert counts["v100"] == GpuCount(total=4, used=1, down=3)


GPU_TYPES = st.sampled_from(["v100", "a100", "1g.10gb", "a100_2g.10gb", UNTYPED])


@given(st.dictionaries(GPU_TYPES, st.integers(min_value=0, max_value=16)))
def test_what_slurm_prints_for_any_node_is_read_back(gpus: dict[str, int]) -> None:
    items = [f"gpu:{name}:{n}(S:0-1)" if name else f"gpu:{n}(S:0,1)" for name, n in gpus.items()]
    assert parse_gres(",".join(items) or "(null)") == gpus


@given(st.text(), st.text())
def test_any_text_is_counts_that_add_up_or_a_clear_error(gres: str, gres_used: str) -> None:
    try:
        counts = count_gpus(gres, gres_used, idle_are="planned")
    except SlurmError:
        return
    for count in counts.values():
        assert count.total == count.used + count.free + count.planned + count.down
