"""Checks before ranks on several nodes start: equal versions, and a network between all nodes.

If a node had another environment, or a firewall stood between two nodes, the run would otherwise
train wrongly or wait for ever.
"""

from __future__ import annotations

import json
import platform
import socket
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import metadata

from dsportal.errors import StepError
from dsportal.rendezvous.client import StoreClient
from dsportal.task.placement import Placement

ALL_HERE_WITHIN_S = 60.0
CONNECT_WITHIN_S = 10.0
_PACKAGES = ("tensorflow", "tensorflow-cpu", "keras", "horovod", "torch", "mxnet", "numpy")
_TOKEN_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a node reports about itself.

    Attributes:
        address: Its IPv4 address on the network of the run.
        port: Port that it listens on for the others.
        interface: Network interface of the address; empty if not known.
        versions: As from `installed_versions`.
    """

    node: str
    address: str
    port: int
    interface: str
    versions: dict[str, str]


def check_nodes(client: StoreClient, placement: Placement, address: str, interface: str) -> None:
    """Check that the nodes of a run fit together; the first rank of each node calls it.

    Args:
        client: Client of a scope of its own in the run's store.
        address: IPv4 address of this node on the network of the run.
    """
    n_nodes = placement.cross_size
    with _Listener(address, client.token) as listener:
        mine = Report(
            node=placement.node,
            address=address,
            port=listener.port,
            interface=interface,
            versions=installed_versions(),
        )
        client.put(f"report-{placement.cross_rank}", json.dumps(asdict(mine)).encode())
        reports = _all_reports(client, n_nodes)
        check_versions(reports)
        for other in reports:
            if other != mine:
                check_way(mine, other, client.token)
        if client.add("n_done", 1) == n_nodes:
            client.put("all_done", b"1")
        # Keep listening until all nodes have connected; one that cannot reports it itself.
        with suppress(TimeoutError):
            client.wait("all_done", 2 * CONNECT_WITHIN_S)


def installed_versions() -> dict[str, str]:
    """Return the versions of Python and packages that all nodes must have in common."""
    versions = {"Python": platform.python_version()}
    for name in _PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions


def check_versions(reports: list[Report]) -> None:
    """Refuse nodes whose environment differs from that of the first report."""
    first = reports[0]
    for other in reports[1:]:
        names = sorted({*first.versions, *other.versions})
        for name in names:
            here, there = first.versions.get(name, "none"), other.versions.get(name, "none")
            if here != there:
                raise StepError(
                    f"The nodes have different environments: {name} is {here} on {first.node} and "
                    f"{there} on {other.node}. Tell the administrators to install the same "
                    f"environment on {other.node}."
                )


def check_way(here: Report, there: Report, token: bytes) -> None:
    """Check that this node can connect to another one, which knows the run's token."""
    with suppress(OSError):
        target = (there.address, there.port)
        # From the address of the run's network: a node may have several.
        with socket.create_connection(target, CONNECT_WITHIN_S, (here.address, 0)) as way:
            way.sendall(token)
            if way.recv(1) == b"+":
                return
    raise StepError(
        f"Node {here.node} ({here.address}, interface {here.interface or 'unknown'}) does not "
        f"reach node {there.node} ({there.address}, interface {there.interface or 'unknown'}). "
        "Tell the administrators: ranks need every TCP port between the nodes of a job."
    )


def _all_reports(client: StoreClient, n_nodes: int) -> list[Report]:
    reports: list[Report] = []
    for index in range(n_nodes):
        try:
            text = client.wait(f"report-{index}", ALL_HERE_WITHIN_S)
        except TimeoutError as error:
            raise StepError(
                f"Only {len(reports)} of {n_nodes} nodes have started their ranks within "
                f"{ALL_HERE_WITHIN_S:.0f} s: {', '.join(report.node for report in reports)}. The "
                "logs of the ranks may say why. Else tell the administrators."
            ) from error
        reports.append(Report(**json.loads(text)))
    return reports


class _Listener:
    """Answers other nodes that know the token, in the background."""

    def __init__(self, address: str, token: bytes) -> None:
        self._token = token
        self._socket = socket.create_server((address, 0))

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    def __enter__(self) -> _Listener:
        threading.Thread(target=self._answer, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        # Wakes the thread; closing alone would not.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _answer(self) -> None:
        while True:
            try:
                way, _ = self._socket.accept()
            except OSError:
                return
            with way, suppress(OSError):
                way.settimeout(CONNECT_WITHIN_S)
                if way.recv(_TOKEN_BYTES, socket.MSG_WAITALL) == self._token:
                    way.sendall(b"+")
