"""The second partition of the campaign's cluster."""

from __future__ import annotations

from deploy.one_machine.cluster import describe_cluster
from deploy.one_machine.slurm import render_slurm_conf
from tests.faults.bring_up import with_second_partition


def test_the_last_nodes_are_a_partition_of_their_own() -> None:
    conf = with_second_partition(render_slurm_conf(describe_cluster(6)), 4, 2)

    first, second = (line for line in conf.splitlines() if line.startswith("PartitionName="))
    assert first.startswith("PartitionName=jupyter Nodes=node[01-04] Default=YES ")
    assert second.startswith("PartitionName=waiting Nodes=node[05-06] State=UP ")
