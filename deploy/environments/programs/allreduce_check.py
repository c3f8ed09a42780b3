"""Run by two ranks after Horovod was built: each must see the sum over both.

    horovodrun -np 2 python allreduce_check.py [tensorflow|pytorch] [--nccl]

With --nccl, Horovod has to be built with NCCL; nothing is asked of a GPU.
"""

import argparse
import sys
from typing import Any


def main() -> int:
    """Add up one number of each rank.

    Returns:
        0 if every rank got the sum, there was more than one rank, and Horovod has what was asked
        for, else 1.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("framework", nargs="?", default="tensorflow")
    parser.add_argument("--nccl", action="store_true")
    wanted = parser.parse_args()
    hvd, make_tensor = _load(wanted.framework)
    hvd.init()
    total = float(hvd.allreduce(make_tensor(float(hvd.rank() + 1)), op=hvd.Sum))
    expected = hvd.size() * (hvd.size() + 1) / 2
    print(f"rank {hvd.rank()} of {hvd.size()}: sum {total}, expected {expected}")
    print(f"NCCL: {hvd.nccl_built()}")
    has_all = bool(hvd.nccl_built()) or not wanted.nccl
    # Ranks that have not found each other are each alone, and each sum is right.
    return 0 if hvd.size() > 1 and total == expected and has_all else 1


def _load(framework: str) -> tuple[Any, Any]:
    # Inside, because an environment has only one of the two.
    if framework == "pytorch":
        import horovod.torch
        import torch

        return horovod.torch, torch.tensor
    import horovod.tensorflow
    import tensorflow as tf

    return horovod.tensorflow, tf.constant


if __name__ == "__main__":
    sys.exit(main())
