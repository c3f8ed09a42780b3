"""Event files of a training that never ran, written by TensorBoard's own writer."""

import subprocess
import sys
from pathlib import Path

FINAL_ACCURACY = 0.9087


def write_run(python: Path, run_dir: Path, *, n_steps: int = 200) -> None:
    """Write a run with the scalars `accuracy`, which ends at FINAL_ACCURACY, and `loss`.

    Args:
        n_steps: Points of each curve, 2 or more.
    """
    argv = [str(python), "-I", __file__, str(run_dir), str(n_steps)]
    subprocess.run(argv, check=True, timeout=120)


def main(run_dir: str, n_steps: int) -> None:
    """Do the writing, in an environment that has tensorboard."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(run_dir)
    for step in range(n_steps):
        accuracy = FINAL_ACCURACY * step / (n_steps - 1)
        for tag, value in (("accuracy", accuracy), ("loss", 1 - accuracy)):
            summary = Summary(value=[Summary.Value(tag=tag, simple_value=value)])
            writer.add_event(Event(step=step, wall_time=1.7e9 + step, summary=summary))
    writer.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
