"""Trains the same network from a cell and from a shell, on the node of a session.

    training_rounds.py horovod|torch N_ROUNDS     prints one line of JSON for each training
    training_rounds.py --rank horovod|torch FILE  what horovodrun and torchrun start

Every rank has one thread. The clock starts before the call or the command, and again at each step.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

BATCH_SIZE = 128
N_WARMUP_STEPS = 5
N_STEPS = 40
N_RANKS = 2
# The same for both ways, so that only the way to start differs.
SETTINGS = {
    "OMP_NUM_THREADS": "1",
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_NUM_INTEROP_THREADS": "1",
    "HOROVOD_CYCLE_TIME": "20",
    "TF_CPP_MIN_LOG_LEVEL": "3",
}


def train_horovod():
    """Runs on a rank: returns when its first step was over, and images/s of all ranks."""
    os.environ.update(SETTINGS)
    import keras
    import numpy as np
    from keras import layers

    import portal.launch.horovod_keras as hvd

    hvd.init()
    chance = np.random.default_rng(hvd.rank())
    images = chance.random((BATCH_SIZE, 28, 28, 1), dtype=np.float32)
    labels = chance.integers(0, 10, BATCH_SIZE)
    model = keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.Conv2D(32, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, padding="same", activation="relu"),
            layers.Conv2D(64, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(10, activation="softmax"),
        ]
    )
    optimizer = keras.optimizers.SGD(0.01)
    model.compile(
        optimizer=hvd.DistributedOptimizer(optimizer),
        loss="sparse_categorical_crossentropy",
        jit_compile=False,
    )
    return timed(lambda: model.train_on_batch(images, labels), hvd.size())


def train_torch():
    """Runs on a rank: as `train_horovod`."""
    os.environ.update(SETTINGS)
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    images = torch.rand((BATCH_SIZE, 1, 28, 28))
    labels = torch.randint(0, 10, (BATCH_SIZE,))
    network = nn.Sequential(
        *(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 3, padding=1), nn.ReLU()),
        *(nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(64 * 7 * 7, 10)),
    )
    model = DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()

    found = timed(step, dist.get_world_size())
    # A rank that goes while its neighbour still reduces takes it down.
    dist.barrier()
    dist.destroy_process_group()
    return found


TRAININGS = {"horovod": train_horovod, "torch": train_torch}


def timed(step, n_ranks):
    step()
    first_step_at = time.time()
    for _ in range(N_WARMUP_STEPS):
        step()
    began = time.perf_counter()
    for _ in range(N_STEPS):
        step()
    images_per_s = n_ranks * BATCH_SIZE * N_STEPS / (time.perf_counter() - began)
    return {"first_step_at": first_step_at, "images_per_s": images_per_s}


def from_a_cell(framework, n_ranks):
    from portal.launch import run

    began = time.time()
    found = run(TRAININGS[framework], gpus=n_ranks)
    return {"first_step_s": found["first_step_at"] - began, "images_per_s": found["images_per_s"]}


def from_a_shell(framework):
    programs = Path(sys.executable).parent
    result = Path("shell.json").absolute()
    starters = {
        "horovod": [
            *(programs / "horovodrun", "-np", str(N_RANKS), "-H", f"localhost:{N_RANKS}"),
            *("--gloo", "--disable-cache", sys.executable),
        ],
        "torch": [programs / "torchrun", "--standalone", "--nproc-per-node", str(N_RANKS)],
    }
    # Slurm's variables mean the session's one task here, as in a terminal of the notebook server.
    environ = {**os.environ, **SETTINGS, "PATH": f"{programs}:{os.environ['PATH']}"}
    began = time.time()
    subprocess.run(
        [*starters[framework], __file__, "--rank", framework, result],
        env=environ,
        stdout=sys.stderr,
        check=True,
        timeout=300,
    )
    found = json.loads(result.read_text())
    return {"first_step_s": found["first_step_at"] - began, "images_per_s": found["images_per_s"]}


def main(argv):
    if argv[0] == "--rank":
        found = TRAININGS[argv[1]]()
        if os.environ.get("HOROVOD_RANK", os.environ.get("RANK")) == "0":
            Path(argv[2]).write_text(json.dumps(found))
        return
    framework, n_rounds = argv[0], int(argv[1])
    for number in range(n_rounds):
        ways = {
            "cell": lambda: from_a_cell(framework, N_RANKS),
            "shell": lambda: from_a_shell(framework),
        }
        if framework == "horovod":
            ways["cell_1_rank"] = lambda: from_a_cell(framework, 1)
        # What comes first in a round takes turns, as the machine may be busy for a while.
        first = number % len(ways)
        for name in [*list(ways)[first:], *list(ways)[:first]]:
            print("FOUND", json.dumps({"way": name, **ways[name]()}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
