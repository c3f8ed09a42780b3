"""MXNet's distributed stores, over a module that stands in for MXNet."""

from types import SimpleNamespace

import pytest

from dsportal.errors import LaunchError
from dsportal.rendezvous.mxnet_servers import serve_distributed_stores, server_variables


def module(n_nodes: int) -> SimpleNamespace:
    found = SimpleNamespace(create=lambda name="local": f"a {name} store")
    serve_distributed_stores(found, address="", rank=0, n_ranks=4, n_nodes=n_nodes)
    return found


def test_a_store_within_one_process_needs_no_servers():
    assert module(n_nodes=2).create() == "a local store"
    assert module(n_nodes=1).create("device") == "a device store"


@pytest.mark.parametrize("name", ["dist_sync", "dist_async", "DIST_SYNC"])
def test_a_store_over_nodes_is_refused_with_what_to_use_instead(name):
    with pytest.raises(LaunchError, match=r"This run has 2 nodes.*train with PyTorch or Horovod"):
        module(n_nodes=2).create(name)


def test_servers_stay_off_the_network():
    variables = server_variables(20_001, 4)

    assert variables["DMLC_LOCAL"] == "1"
    assert variables["DMLC_PS_ROOT_PORT"] == "20001"
    assert variables["DMLC_NUM_WORKER"] == "4"
