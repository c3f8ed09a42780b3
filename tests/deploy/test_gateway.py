"""The nodes' way to the internet: what it opens, what stays closed, and that nothing is left."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.deploy.test_one_machine import CHECKOUT, on_node

pytestmark = pytest.mark.cluster

NAMESPACES = ("--net", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private")
# What is mounted for all is that of the machine's own network.
OWN_FOLDERS = "mount -t sysfs sysfs /sys && mount -t tmpfs tmpfs /run && mkdir /run/netns"


@pytest.fixture(scope="module")
def seen() -> dict[str, Any]:
    """Return what reached what in networks like those of a machine with a VPN."""
    program = f'{OWN_FOLDERS} && exec "$0" -m tests.deploy.networks'
    done = subprocess.run(
        ["unshare", *NAMESPACES, "--mount-proc", "sh", "-c", program, sys.executable],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_node_reaches_the_internet_under_the_machines_address(seen: dict[str, Any]) -> None:
    assert seen["outcomes"] == ["through up0", "unchanged"]
    assert "unreachable" in seen["before"]["node to internet"]
    assert seen["open"]["node to internet"] == "seen as 203.0.113.2"


@pytest.mark.parametrize("when", ["open", "open on a router"])
@pytest.mark.parametrize(
    "target", ["machine on its network", "machine on the VPN", "peer on the VPN", "metadata"]
)
def test_a_node_reaches_nothing_of_the_machine_that_it_did_not_reach_before(
    seen: dict[str, Any], when: str, target: str
) -> None:
    assert "unreachable" in seen["before"][f"node to {target}"]
    assert seen[when][f"node to {target}"] == "ConnectionRefusedError"


@pytest.mark.parametrize("target", ["machine", "other node"])
def test_what_a_node_reached_before_it_reaches_still(seen: dict[str, Any], target: str) -> None:
    stages = ("before", "open", "closed", "open on a router")

    assert {seen[stage][f"node to {target}"] for stage in stages} == {"seen as 10.77.0.11"}


def test_neighbours_of_the_machine_reach_no_node(seen: dict[str, Any]) -> None:
    stages = ("before", "open", "closed", "open on a router")

    assert not [stage for stage in stages if "seen as" in seen[stage]["neighbour to node"]]


def test_the_machine_becomes_no_router_for_its_neighbours(seen: dict[str, Any]) -> None:
    asked = "neighbour to peer on the VPN"

    assert seen["before"][asked] == seen["open"][asked] == "TimeoutError"
    # Nor does one that was a router before stop to be one.
    assert seen["open on a router"][asked] == "seen as 203.0.113.1"


def test_nothing_is_left_of_it(seen: dict[str, Any]) -> None:
    for stage, forwarding in (("before", "0"), ("closed", "0"), ("closed on a router", "1")):
        assert seen[stage]["forwarding"] == forwarding
        assert seen[stage]["tables"] == ""
    assert seen["open"]["forwarding"] == "1"
    assert seen["closed"] == seen["before"]


def test_where_no_name_server_answers_a_node_is_as_without_it(seen: dict[str, Any]) -> None:
    assert seen["refused outcome"].startswith("none: 198.51.100.9 did not answer the nodes")
    assert seen["refused"] == seen["before"]


def test_a_job_reaches_the_machine_at_the_address_of_its_network_only() -> None:
    listeners = subprocess.run(["ss", "-4ltnH"], check=True, capture_output=True, text=True).stdout
    ports = {line.split()[3].rpartition(":")[2] for line in listeners.splitlines()}
    shown = subprocess.run(
        ["ip", "-4", "-o", "address"], check=True, capture_output=True, text=True
    )
    addresses = {line.split()[3].partition("/")[0] for line in shown.stdout.splitlines()}
    script = (
        f"for host in {' '.join(addresses)}; do for port in {' '.join(ports)}; do "
        "(exec 3<>/dev/tcp/$host/$port) 2>/dev/null && echo $host; done; done; echo done"
    )

    assert "8000" in ports
    # 127.0.0.1 is the node's own.
    assert set(on_node(script).split()) - {"127.0.0.1"} == {"10.77.0.1", "done"}


def set_up_again(*options: str) -> str:
    up = str(CHECKOUT / "deploy/up")
    only = (up, "--only", "internet", *options)
    return subprocess.run(only, check=True, capture_output=True, text=True, timeout=120).stdout


def test_nodes_that_shall_be_offline_are_told_so_at_once() -> None:
    try:
        assert "none: --offline-nodes was given." in set_up_again("--offline-nodes")
        said = on_node("(exec 3<>/dev/tcp/192.0.2.1/80) 2>&1; getent hosts pypi.org; echo $?")
    finally:
        set_up_again()

    assert "Network is unreachable" in said
    assert said.split()[-1] == "2"


@pytest.mark.release
def test_pip_in_a_cell_on_a_node_installs_from_the_ordinary_index() -> None:
    cell = (
        "%pip install --index-url https://pypi.org/simple --force-reinstall --no-deps einops\n"
        "%pip uninstall --yes einops"
    )
    program = (
        "import nbformat, nbclient, sys; cell = nbformat.v4.new_code_cell(sys.argv[1]); "
        "book = nbformat.v4.new_notebook(cells=[cell]); "
        "nbclient.NotebookClient(book, kernel_name='python3', timeout=120).execute(); "
        "print(''.join(output.get('text', '') for output in cell.outputs))"
    )
    python = "/opt/data-scientist-portal/environments/server/bin/python"

    said = on_node(f'cd; {python} -c "{program}" "{cell}"', "--mem=2G")

    assert "Successfully installed einops" in said
