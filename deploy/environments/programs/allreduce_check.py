"""Run by two ranks after Horovod was built: each must see the sum over both."""

from __future__ import annotations

import sys

import horovod.tensorflow as hvd
import tensorflow as tf


def main() -> int:
    """Add up one number of each rank.

    Returns:
        0 if every rank got the sum and there was more than one rank, else 1.
    """
    hvd.init()
    total = float(hvd.allreduce(tf.constant(float(hvd.rank() + 1)), op=hvd.Sum))
    expected = hvd.size() * (hvd.size() + 1) / 2
    print(f"rank {hvd.rank()} of {hvd.size()}: sum {total}, expected {expected}")
    return 0 if hvd.size() > 1 and total == expected else 1


if __name__ == "__main__":
    sys.exit(main())
