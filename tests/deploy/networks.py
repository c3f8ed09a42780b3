"""Networks around the nodes of a machine of its own: what reaches what, with the gateway and not.

Run as a program in namespaces of its own; prints what it found as JSON.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy.one_machine import gateway, network, resolver
from deploy.one_machine.cluster import Node, simulated_gpus, simulated_hosts

# For documentation (RFC 5737), so that nothing else has them.
SERVER_OF_THE_INTERNET = "198.51.100.9"
MACHINE, NEIGHBOUR = "203.0.113.2", "203.0.113.1"
MACHINE_ON_VPN, PEER_ON_VPN = "192.168.7.1", "192.168.7.2"
METADATA = "169.254.169.254"
PORT = 8080
# Says to each who connects which address that is seen to be.
SERVE = f"""\
import socket
server = socket.create_server(("0.0.0.0", {PORT}))
print("ready", flush=True)
while True:
    connection, (address, _) = server.accept()
    with connection:
        connection.sendall(address.encode())
"""
ASK = f"""\
import socket, sys
try:
    with socket.create_connection((sys.argv[1], {PORT}), timeout=2) as connection:
        print("seen as", connection.recv(100).decode())
except OSError as error:
    print(type(error).__name__ if isinstance(error, (ConnectionError, TimeoutError)) else error)
"""
PYTHON = ("/usr/bin/python3", "-I", "-c")
TARGETS = {
    "internet": SERVER_OF_THE_INTERNET,
    "machine": network.HEAD_ADDRESS,
    "machine on its network": MACHINE,
    "machine on the VPN": MACHINE_ON_VPN,
    "peer on the VPN": PEER_ON_VPN,
    "metadata": METADATA,
    "other node": "10.77.0.12",
}


def ip(*words: str, namespace: str = "") -> None:
    inside = ["nsenter", f"--net=/run/netns/{namespace}"] if namespace else []
    subprocess.run([*inside, "ip", *words], check=True)


def connect(namespace: str, device: str, address: str, peer: str) -> None:
    """Make a namespace, joined to the machine by a cable."""
    ip("netns", "add", namespace)
    ip("link", "add", device, "type", "veth", "peer", "name", "eth0", "netns", namespace)
    for name, own, inside in ((device, address, ""), ("eth0", peer, namespace)):
        ip("address", "add", f"{own}/24", "dev", name, namespace=inside)
        ip("link", "set", name, "up", namespace=inside)
    ip("link", "set", "lo", "up", namespace=namespace)
    # Who there takes the machine for a router.
    ip("route", "add", "default", "via", address, namespace=namespace)


@contextmanager
def serving(namespaces: list[str]) -> Iterator[None]:
    """Listen everywhere."""
    servers = []
    for name in namespaces:
        inside = ["nsenter", f"--net=/run/netns/{name}"] if name else []
        argv = [*inside, *PYTHON, SERVE]
        servers.append(subprocess.Popen(argv, stdout=subprocess.PIPE, text=True))
        assert servers[-1].stdout is not None
        assert servers[-1].stdout.readline() == "ready\n"
    try:
        yield
    finally:
        for server in servers:
            server.kill()


def ask(namespace: str, address: str) -> str:
    inside = ("nsenter", f"--net=/run/netns/{namespace}")
    argv = [*inside, *PYTHON, ASK, address]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def found() -> dict[str, str]:
    """Return who reaches what: `seen as ADDRESS`, or why not."""
    return {
        **{f"node to {name}": ask("dsp-node01", address) for name, address in TARGETS.items()},
        "neighbour to node": ask("outside", "10.77.0.11"),
        "neighbour to peer on the VPN": ask("outside", PEER_ON_VPN),
        "forwarding": Path("/proc/sys/net/ipv4/conf/up0/forwarding").read_text().strip(),
        "tables": subprocess.run(
            ["nft", "list", "tables"], check=True, capture_output=True, text=True
        ).stdout.strip(),
    }


def main() -> None:
    """Ask before, with and after the nodes' way to the internet."""
    folder = Path(tempfile.mkdtemp(dir="/run"))
    network.HOSTS_FILE = folder / "hosts"
    resolver.RESOLV_CONF = folder / "machines"
    resolver.NODES_RESOLV_CONF = folder / "nodes"
    resolver.RESOLV_CONF.write_text(f"nameserver {SERVER_OF_THE_INTERNET}\n")
    is_answered = [True]
    # There is no node but its network.
    gateway.finds_names = lambda _: is_answered[0]

    forward = Path("/proc/sys/net/ipv4/ip_forward")
    forward.write_text("0")
    ip("link", "set", "lo", "up")
    connect("outside", "up0", MACHINE, NEIGHBOUR)
    connect("vpn", "vpn0", MACHINE_ON_VPN, PEER_ON_VPN)
    for address in (SERVER_OF_THE_INTERNET, METADATA):
        ip("address", "add", f"{address}/32", "dev", "lo", namespace="outside")
    ip("route", "add", "default", "via", NEIGHBOUR)
    hosts = simulated_hosts(2)
    network.ensure_network(hosts)
    nodes = tuple(
        Node(host=host, n_cores=1, memory_mib=1, gpus=simulated_gpus("v100")) for host in hosts
    )
    seen: dict[str, object] = {}
    with serving(["", "outside", "vpn", "dsp-node01", "dsp-node02"]):
        seen["before"] = found()
        seen["outcomes"] = [gateway.Gateway(nodes).ensure() for _ in range(2)]
        seen["open"] = found()
        gateway.close(hosts)
        seen["closed"] = found()
        is_answered[0] = False
        seen["refused outcome"] = gateway.Gateway(nodes).ensure()
        seen["refused"] = found()
        is_answered[0] = True
        # As of a machine with containers.
        forward.write_text("1")
        gateway.Gateway(nodes).ensure()
        seen["open on a router"] = found()
        gateway.close(hosts)
        seen["closed on a router"] = found()
    json.dump(seen, sys.stdout)


if __name__ == "__main__":
    main()
