import pytest

from dsportal.launch.layout import Layout
from dsportal.launch.partition import PartitionLimits, explain_too_large, parse_limits

TWO_NODES = Layout(n_ranks=2, n_nodes=2)


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("2|1-00:00:00|1-infinite\n", PartitionLimits(n_nodes=2, max_walltime_s=86_400)),
        ("3|infinite|1-2\n1|infinite|1-2\n", PartitionLimits(n_nodes=4, max_nodes=2)),
        ("4|8:00:00|1\n", PartitionLimits(n_nodes=4, max_nodes=1, max_walltime_s=28_800)),
        ("4|n/a|odd\n", PartitionLimits(n_nodes=4)),
        ("odd\n", PartitionLimits()),
        ("", PartitionLimits()),
    ],
    ids=["no limit of nodes", "two groups of nodes", "one node", "unknown words", "odd", "silent"],
)
def test_limits_are_read_from_sinfo(text, limits):
    assert parse_limits(text) == limits


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        (
            PartitionLimits(n_nodes=1),
            "You asked for 2 nodes, but the session's partition gpu has 1 node. Choose gpus=1, "
            "nodes=1, or start a session in a partition with more.",
        ),
        (
            PartitionLimits(n_nodes=8, max_nodes=1),
            "You asked for 2 nodes, but the session's partition gpu gives one job at most 1 node. "
            "Choose gpus=1, nodes=1, or start a session in a partition with more.",
        ),
        (
            PartitionLimits(n_nodes=8, max_walltime_s=5_000),
            "You asked for 2 hours, but the session's partition gpu gives one job at most 1.38 "
            "hours. Choose hours=1.38 or fewer, or start a session in a partition that gives more.",
        ),
    ],
)
def test_what_a_partition_never_gives_is_refused_with_the_limit_and_what_fits(limits, sentence):
    assert explain_too_large(TWO_NODES, 7_200, "gpu", limits) == sentence


@pytest.mark.parametrize(
    ("limits", "most"),
    [
        (PartitionLimits(), None),
        (PartitionLimits(n_nodes=4), 4),
        (PartitionLimits(n_nodes=4, max_nodes=2), 2),
        (PartitionLimits(n_nodes=2, max_nodes=4), 2),
    ],
)
def test_a_job_gets_no_more_nodes_than_there_are_nor_than_is_allowed(limits, most):
    assert limits.most_nodes == most


@pytest.mark.parametrize(
    "limits",
    [PartitionLimits(), PartitionLimits(n_nodes=2, max_nodes=2, max_walltime_s=7_200)],
    ids=["not known", "just enough"],
)
def test_what_fits_or_is_not_known_is_not_refused(limits):
    assert explain_too_large(TWO_NODES, 7_200, "gpu", limits) is None
