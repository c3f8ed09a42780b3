"""Horovod over MPI from a session; run as `mpi_cases.py CASE...`.

The environment, the outcome lines and the folders are those of tests/support/launch_cases.py.
"""

import os
import sys
import time
from pathlib import Path

import launch_cases
import numpy as np
import training_cases

from dsportal import LaunchError, RankError, run


def train_and_add_up():
    """Runs on a rank: trains, adds up its number and one, and says over what."""
    import horovod.tensorflow as hvd
    import tensorflow as tf

    trained = training_cases.train_on_ranks()
    total = hvd.allreduce(tf.constant(float(hvd.rank() + 1)), op=hvd.Sum)
    return {
        "weights": trained["weights"],
        "sum": float(total),
        "place": [hvd.rank(), hvd.local_rank(), hvd.size()],
        "mpi": bool(hvd.mpi_enabled()),
        "gloo": bool(hvd.gloo_enabled()),
        "variables": sorted(name for name in os.environ if name.startswith("HOROVOD_GLOO_")),
    }


def case_one_node():
    """Two ranks on one node."""
    return compare_with_gloo()


def case_two_nodes():
    """One rank on each of two nodes."""
    return compare_with_gloo(gpus=2, nodes=2)


def compare_with_gloo(**shape):
    started = time.monotonic()
    ranks = run(train_and_add_up, results="all", mpi=True, **shape)
    seconds = time.monotonic() - started
    over_gloo = run(train_and_add_up, results="all", **shape)
    differences = [
        float(np.abs(a - b).max())
        for rank, other in zip(ranks, over_gloo, strict=True)
        for a, b in zip(rank.pop("weights"), other.pop("weights"), strict=True)
    ]
    return {
        "mpi": ranks,
        "gloo": over_gloo,
        "largest_difference": max(differences),
        "seconds": seconds,
    }


def fail_on_rank_1():
    """Runs on a rank: rank 1 fails while rank 0 waits for its number."""
    import horovod.tensorflow as hvd
    import tensorflow as tf

    hvd.init()
    hvd.allreduce(tf.constant(1.0))
    if hvd.rank() == 1:
        raise ValueError("bad image 1234.jpg")
    hvd.allreduce(tf.constant(1.0))


def case_crash():
    """An exception on rank 1."""
    started = time.monotonic()
    try:
        run(fail_on_rank_1, mpi=True)
    except RankError as error:
        return {"rank": error.rank, "text": str(error), "seconds": time.monotonic() - started}
    return {}


def add_up_for_ever(folder):
    """Runs on a rank: leaves its process id and adds up until it is interrupted."""
    import horovod.tensorflow as hvd
    import tensorflow as tf

    hvd.init()
    hvd.allreduce(tf.constant(1.0))
    Path(folder, f"{hvd.rank()}.pid").write_text(str(os.getpid()))
    while True:
        hvd.allreduce(tf.constant(1.0), name="again")


def case_interrupt():
    """The interrupt button."""
    return launch_cases.interrupted(add_up_for_ever, mpi=True)


def case_interrupt_on_two_nodes():
    """The interrupt button while ranks run on two nodes."""
    return launch_cases.interrupted(add_up_for_ever, gpus=2, nodes=2, mpi=True)


def case_refusal():
    """Where Horovod is built without MPI."""
    try:
        run(train_and_add_up, mpi=True)
    except LaunchError as error:
        return {"text": str(error)}
    return {}


if __name__ == "__main__":
    launch_cases.main(sys.argv[1:], globals())
