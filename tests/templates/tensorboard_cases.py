"""Trainings that report while a TensorBoard writer is open; run as `tensorboard_cases.py CASE...`.

The environment, the outcome lines and the folders are those of tests/support/launch_cases.py.
"""

import sys
from pathlib import Path

import launch_cases

from dsportal import report, run

N_STEPS = 3


def train_with_torch(folder):
    """Runs on a rank: reports before, while and after a SummaryWriter is open."""
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(folder):
        for step in range(1, N_STEPS + 1):
            report(step=step, steps=N_STEPS, images=8, loss=1 / step)
    report(step=N_STEPS + 1, loss=0.0)


def train_with_tensorflow(folder):
    """Runs on a rank: reports while a writer of TensorFlow is the default one."""
    import tensorflow as tf

    with tf.summary.create_file_writer(folder).as_default():
        for step in range(1, N_STEPS + 1):
            report(step=step, steps=N_STEPS, images=8, loss=1 / step)


def scalars(folder):
    """Return (step, value) of each scalar that TensorBoard would show, by tag."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util.tensor_util import make_ndarray

    events = EventAccumulator(folder)
    events.Reload()
    tags = events.Tags()
    found = {tag: [(one.step, one.value) for one in events.Scalars(tag)] for tag in tags["scalars"]}
    for tag in tags["tensors"]:
        points = events.Tensors(tag)
        found[tag] = [(one.step, float(make_ndarray(one.tensor_proto))) for one in points]
    return found


def case_torch_writer():
    """A SummaryWriter of PyTorch on a rank."""
    folder = str(Path.cwd() / "logs")
    run(train_with_torch, folder, gpus=1)
    return scalars(folder)


def case_tensorflow_writer():
    """TensorFlow's default writer on a rank."""
    folder = str(Path.cwd() / "logs")
    run(train_with_tensorflow, folder, gpus=1)
    return scalars(folder)


if __name__ == "__main__":
    launch_cases.main(sys.argv[1:], globals())
