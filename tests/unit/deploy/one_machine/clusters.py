"""The two clusters that deploy/up can make, for tests."""

from deploy.one_machine.cluster import (
    SIMULATED_CORES,
    SIMULATED_MEMORY_MIB,
    Cluster,
    Node,
    simulated_gpus,
    simulated_hosts,
)
from deploy.one_machine.gpus import Gpu

SIMULATED = Cluster(
    nodes=tuple(
        Node(
            host=host,
            n_cores=SIMULATED_CORES,
            memory_mib=SIMULATED_MEMORY_MIB,
            gpus=simulated_gpus("v100"),
        )
        for host in simulated_hosts(2)
    ),
    has_simulated_gpus=True,
    has_cgroups=True,
)
REAL = Cluster(
    nodes=(
        Node(
            host=simulated_hosts(1)[0],
            n_cores=15,
            memory_mib=117_964,
            gpus=(Gpu(minor=0, gres_type="h200"), Gpu(minor=1, gres_type="h200")),
        ),
    ),
    has_simulated_gpus=False,
    has_cgroups=False,
)
