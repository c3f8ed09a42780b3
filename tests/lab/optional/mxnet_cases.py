"""MXNet's key-value store from a session; run as `mxnet_cases.py CASE...`.

The environment, the outcome lines and the folders are those of tests/support/launch_cases.py.
"""

import os
import sys
from pathlib import Path

import launch_cases

from dsportal import run


def add_up():
    """Runs on a rank: pushes its number and one, and looks at the sockets."""
    import mxnet as mx

    store = mx.kv.create("dist_sync")
    store.init(1, mx.nd.zeros(1))
    store.push(1, mx.nd.array([store.rank + 1]))
    total = mx.nd.zeros(1)
    store.pull(1, out=total)
    mine = [
        path
        for path in Path("/tmp").iterdir()
        if path.is_socket() and path.name.isdigit() and path.stat().st_uid == os.getuid()
    ]
    return float(total.asscalar()), [oct(path.stat().st_mode & 0o777) for path in mine]


def case_sockets():
    """Two ranks of one node."""
    ranks = run(add_up, results="all")
    return {"sums": [total for total, _ in ranks], "modes": ranks[0][1]}


if __name__ == "__main__":
    launch_cases.main(sys.argv[1:], globals())
