"""Another user of the node at the ports of a kernel that an editor has started."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from jupyter_client import BlockingKernelClient, KernelManager

from tests.support.editor_kernel import TIMEOUT_S, connect, ports, printed, start_kernel

NEIGHBOUR = 20002
N_CONNECTIONS = 2000
# Connects and says how many bytes it got until the other end closed the connection.
READER = """
import json, socket, sys

def read(port):
    n_bytes = 0
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        # The greeting of ZeroMQ, which lets the other end say more.
        try:
            connection.sendall(b"\\xff" + bytes(8) + b"\\x7f")
            while data := connection.recv(1000):
                n_bytes += len(data)
                if is_enough:
                    break
        except ConnectionError:
            pass
        except TimeoutError:
            return "not closed"
    return n_bytes

numbers, is_enough = json.loads(sys.argv[1])
print(json.dumps([read(port) for port in numbers]))
"""


@pytest.fixture(scope="module", params=["", "in a user namespace"])
def kernel(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KernelManager]:
    """One of this user; an image has a namespace that knows no other user."""
    inside = ["unshare", "--user", "--map-current-user"] if request.param else []
    kernel = start_kernel(tmp_path_factory.mktemp("kernel"), inside=inside)
    yield kernel
    kernel.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def client(kernel: KernelManager) -> Iterator[BlockingKernelClient]:
    client = connect(kernel)
    yield client
    client.stop_channels()


def read(numbers: list[int], user: int | None, *, is_enough: bool = False) -> list[int | str]:
    """Return the bytes that a user gets from each port; with `is_enough`, the first of them."""
    argv = ["/usr/bin/python3", "-I", "-c", READER, json.dumps([numbers, is_enough])]
    done = subprocess.run(
        argv,
        user=user,
        group=user,
        extra_groups=None if user is None else [],
        cwd="/",
        stdout=subprocess.PIPE,
        timeout=TIMEOUT_S,
        check=True,
    )
    return list(json.loads(done.stdout))


def test_another_user_gets_not_a_byte_from_any_port(
    kernel: KernelManager, client: BlockingKernelClient
) -> None:
    numbers = ports(kernel)
    assert all(read(numbers, None, is_enough=True)), "the user's own programs get an answer"

    assert read(numbers, NEIGHBOUR) == [0, 0, 0, 0, 0]

    assert printed(client, "print('of the user')") == "of the user\n"


def test_another_user_who_connects_again_and_again_keeps_nobody_out(
    kernel: KernelManager, client: BlockingKernelClient
) -> None:
    assert set(read([kernel.iopub_port] * N_CONNECTIONS, NEIGHBOUR)) == {0}

    later = connect(kernel)
    assert printed(later, "print('of the user')") == "of the user\n"
    later.stop_channels()


def test_the_sockets_are_in_a_folder_that_only_the_user_can_enter(
    kernel: KernelManager, client: BlockingKernelClient
) -> None:
    number = kernel.iopub_port
    names = [line.split()[-1] for line in Path("/proc/net/unix").read_text().splitlines()]
    (path,) = {Path(name) for name in names if name.endswith(f"/k-{number}")}

    assert path.parent.stat().st_mode & 0o777 == 0o700
