import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from dsportal.errors import StepError
from dsportal.rendezvous.client import StoreClient
from dsportal.rendezvous.store import Store
from dsportal.task.placement import Placement
from dsportal.worker import node_checks
from dsportal.worker.node_checks import Report, check_nodes, check_versions, check_way

REPORT = Report(
    node="node01",
    address="127.0.0.1",
    port=0,
    interface="ib0",
    versions={"Python": "3.11.2", "torch": "2.13.0"},
)


def place(rank: int) -> Placement:
    return Placement(
        rank=rank,
        size=2,
        local_rank=0,
        local_size=1,
        cross_rank=rank,
        cross_size=2,
        node=f"node{rank + 1:02}",
    )


def check_both(store: Store, addresses: list[str]) -> list[BaseException | None]:
    host, port = store.address
    client = StoreClient(f"{host}:{port}/{store.secret}", "node_checks")
    with ThreadPoolExecutor(max_workers=2) as pool:
        checks = [
            pool.submit(check_nodes, client, place(rank), addresses[rank], "ib0") for rank in (0, 1)
        ]
        return [check.exception(timeout=30) for check in checks]


def test_nodes_that_fit_together_pass():
    with Store() as store:
        assert check_both(store, ["127.0.0.1", "127.0.0.2"]) == [None, None]


def test_another_version_names_the_node_and_both_versions():
    other = replace(REPORT, node="node02", versions={"Python": "3.11.2", "torch": "2.9.1"})

    with pytest.raises(StepError) as refusal:
        check_versions([REPORT, other])

    assert "torch is 2.13.0 on node01 and 2.9.1 on node02" in str(refusal.value)


def test_a_missing_framework_is_a_difference():
    other = replace(REPORT, node="node02", versions={"Python": "3.11.2"})

    with pytest.raises(StepError, match=r"2\.13\.0 on node01 and none on node02"):
        check_versions([REPORT, other])


def test_a_closed_way_names_both_nodes_and_the_interface(monkeypatch):
    monkeypatch.setattr(node_checks, "CONNECT_WITHIN_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    other = replace(REPORT, node="node02", address="127.0.0.1", port=port)

    with pytest.raises(StepError) as refusal:
        check_way(REPORT, other, b"x" * 32)

    assert "Node node01 (127.0.0.1, interface ib0) does not reach node node02" in str(refusal.value)


def test_a_node_that_does_not_come_is_noticed(monkeypatch):
    monkeypatch.setattr(node_checks, "ALL_HERE_WITHIN_S", 0.2)
    with Store() as store:
        host, port = store.address
        client = StoreClient(f"{host}:{port}/{store.secret}", "node_checks")

        with pytest.raises(
            StepError, match=r"Only 1 of 2 nodes have started their ranks within .*: node01"
        ):
            check_nodes(client, place(0), "127.0.0.1", "lo")
