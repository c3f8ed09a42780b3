"""MXNet's ranks exchange gradients through servers of the run, which rank 0 starts.

`mxnet.kv.create("dist_sync")` needs a scheduler and servers besides the workers. They trust
whoever reaches them, and an optimizer is sent to them as a pickle: reaching them is running code
as the user. So they listen on sockets of the file system that only the user may open, which keeps
a run within one node.

Source:
    MXNet 1.9.1, kvstore_server.py; ps-lite, zmq_van.h: DMLC_LOCAL has the sockets in /tmp, named
    by the port.
"""

import functools
import os
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

from dsportal.errors import LaunchError
from dsportal.rendezvous.client import StoreClient
from dsportal.task import exit_with_parent

# How far behind rank 0 another rank may be.
OTHERS_WITHIN_S = 300.0
# Names of sockets, not ports: nothing listens on the network.
_SOCKET_NUMBERS = range(20_000, 60_000)
_SOCKET_DIR = Path("/tmp")  # noqa: S108
_ACROSS_NODES = (
    "This run has {n_nodes} nodes. MXNet's key-value store believes everybody who reaches it over "
    "the network and runs what it is sent, so it is kept within one node: run(train, gpus=N) with "
    "the GPUs of one node. Over nodes, train with PyTorch or Horovod."
)


def serve_distributed_stores(
    module: Any, *, address: str, rank: int, n_ranks: int, n_nodes: int
) -> None:
    """Let `mxnet.kv.create` find the servers of the run when it makes a distributed store.

    `module` is mxnet.kvstore.base, `address` host, port and secret of the run's store.
    """
    stock_create = module.create

    @functools.wraps(stock_create)
    def create(name: str = "local") -> Any:
        if str(name).lower().startswith("dist"):
            if n_nodes > 1:
                raise LaunchError(_ACROSS_NODES.format(n_nodes=n_nodes))
            _join(address, rank, n_ranks)
        return stock_create(name)

    module.create = create


def server_variables(socket_number: int, n_ranks: int) -> dict[str, str]:
    """Return the variables of ps-lite for scheduler, server and workers (ranks), all but the role.

    `socket_number` names the scheduler's socket in /tmp.

    Source:
        ps-lite, docs/env.md.
    """
    return {
        "DMLC_LOCAL": "1",
        "DMLC_NODE_HOST": "127.0.0.1",
        "DMLC_PS_ROOT_URI": "127.0.0.1",
        "DMLC_PS_ROOT_PORT": str(socket_number),
        "DMLC_NUM_SERVER": "1",
        "DMLC_NUM_WORKER": str(n_ranks),
    }


def _join(address: str, rank: int, n_ranks: int) -> None:
    # The servers are running: `create` may be called several times.
    if "DMLC_ROLE" in os.environ:
        return
    # From here on only the user may open the sockets that this process creates.
    os.umask(0o077)
    store = StoreClient(address, "mxnet")
    if rank == 0:
        # Rank 0 chooses the name and tells the others, since another run may be on this node.
        number = _free_number()
        for role in ("scheduler", "server"):
            _start(role, server_variables(number, n_ranks))
        store.put("socket", str(number).encode())
    else:
        number = int(store.wait("socket", OTHERS_WITHIN_S))
    os.environ.update(server_variables(number, n_ranks), DMLC_ROLE="worker")


def _free_number() -> int:
    numbers = (secrets.choice(_SOCKET_NUMBERS) for _ in range(100))
    return next(number for number in numbers if not (_SOCKET_DIR / str(number)).exists())


def _start(role: str, variables: dict[str, str]) -> None:
    # They end with this rank, even if it never closes its connection to them.
    subprocess.Popen(
        [
            *(sys.executable, "-I", "-S", exit_with_parent.__file__, str(os.getpid())),
            *(sys.executable, "-I", "-c", "import mxnet"),
        ],
        # One thread: the cores are for the workers.
        env={**os.environ, **variables, "DMLC_ROLE": role, "OMP_NUM_THREADS": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
