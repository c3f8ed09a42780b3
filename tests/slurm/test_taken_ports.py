"""A neighbour who holds every port of a node that sessions may take."""

import contextlib
import pwd
from collections.abc import Iterator

import pytest

from tests.slurm.conftest import USER, start, wait_until_ready
from tests.support.eventually import eventually
from tests.support.parts import program_on_node
from tests.support.private_hub import PrivateHub

pytestmark = pytest.mark.cluster

NEIGHBOUR = "ada"
# No session of another test listens there.
PORTS = {"port_min": 29990, "port_max": 29997}
HOLD_PORTS = """
import socket, sys
held = [socket.create_server(("", port)) for port in range(29990, 29998)]
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def neighbour() -> Iterator[str]:
    """Have a neighbour hold the ports on both nodes; return how he is called."""
    with contextlib.ExitStack() as stack:
        for node in ("node01", "node02"):
            stack.enter_context(program_on_node(node, NEIGHBOUR, HOLD_PORTS))
        yield f"{NEIGHBOUR} (uid {pwd.getpwnam(NEIGHBOUR).pw_uid}) holds 8"


@pytest.mark.hub(**PORTS)
def test_a_session_starts_although_a_neighbour_holds_all_ports(
    hub: PrivateHub, neighbour: str
) -> None:
    start(hub)

    wait_until_ready(hub)
    port = hub.session(USER)["port"]
    assert port > PORTS["port_max"]
    log = eventually(
        lambda: [line for line in hub.log().splitlines() if f"listens on port {port}" in line],
        timeout_s=20,
    )
    assert neighbour in log[0]
    assert f"The session of {USER}" in log[0]


@pytest.mark.hub(any_port=False, **PORTS)
def test_where_a_site_allows_no_other_port_the_page_and_the_log_name_who_holds_them(
    hub: PrivateHub, neighbour: str
) -> None:
    answer = hub.rest("POST", f"/users/{USER}/server", {"gpus": 1})

    reason = "No port from 29990 to 29997 is free on 10.77.0.1"
    assert answer.status_code == 500
    assert reason in answer.text
    assert neighbour in answer.text
    assert "Show this to the administrators" in answer.text
    assert any(neighbour in line for line in hub.log().splitlines() if f" of {USER}: " in line)
