"""Another user of the node at the ports of a kernel that an editor has started."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from jupyter_client import BlockingKernelClient, KernelManager

from tests.support.editor_kernel import connect, ports, printed, start_kernel
from tests.support.other_user import NEIGHBOUR, read

N_CONNECTIONS = 2000
# ZeroMQ's.
GREETING = b"\xff" + bytes(8) + b"\x7f"


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


def test_another_user_gets_not_a_byte_from_any_port(
    kernel: KernelManager, client: BlockingKernelClient
) -> None:
    numbers = ports(kernel)
    assert all(read(numbers, None, greeting=GREETING, is_enough=True)), (
        "the user's own programs get an answer"
    )

    assert read(numbers, NEIGHBOUR, greeting=GREETING) == [0, 0, 0, 0, 0]

    assert printed(client, "print('of the user')") == "of the user\n"


def test_another_user_who_connects_again_and_again_keeps_nobody_out(
    kernel: KernelManager, client: BlockingKernelClient
) -> None:
    assert set(read([kernel.iopub_port] * N_CONNECTIONS, NEIGHBOUR, greeting=GREETING)) == {0}

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
