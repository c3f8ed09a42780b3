"""Changes the number of simulated nodes: two, or what deploy/up --simulated-nodes says."""

from __future__ import annotations

from dataclasses import replace

from deploy.one_machine import network, node
from deploy.one_machine.cluster import (
    DEFAULT_N_SIMULATED_NODES,
    Cluster,
    describe_cluster,
)
from deploy.one_machine.process import stop


def running_cluster() -> Cluster:
    """Return the cluster that deploy/up has set up last, for removing it.

    Returns:
        With all nodes that have an address, and at least the default number.
    """
    # At least the default, in case the hosts file is lost and its nodes are not.
    return describe_cluster(max(DEFAULT_N_SIMULATED_NODES, len(network.known_names())))


def ensure_network(cluster: Cluster) -> str:
    """Remove surplus nodes, and create the network of the wanted ones."""
    # Without a hosts file there is no network yet, and nothing is surplus.
    surplus = running_cluster().nodes[len(cluster.nodes) :] if network.known_names() else ()
    for part in surplus:
        stop(node.node_daemon(part, has_simulated_gpus=cluster.has_simulated_gpus))
        network.remove_host(part.host)
    node.remove_cgroups(replace(cluster, nodes=surplus))
    outcome = network.ensure_network(cluster.hosts)
    names = ", ".join(part.host.name for part in surplus)
    return f"{names} removed" if surplus else outcome
