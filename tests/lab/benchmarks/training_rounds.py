"""Trains the same network in several ways, on the node of a session.

    training_rounds.py SERIES N_ROUNDS     prints one line of JSON for each training
    training_rounds.py --rank SERIES FILE  what srun, horovodrun and torchrun start

Every rank has one thread and one core. The clock starts before the call or the command, and again
at each step.
"""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

N_RANKS = 2
DIGITS_BATCH_SIZE = 128
# Half a minute: the machine's own pace differs by a tenth from one ten seconds to the next.
N_DIGITS_STEPS = 240
# 95 MB of gradients are averaged in each step, so that a step must not be too short. InceptionV3
# computes more for each byte than ResNet50, which the memory of a small machine slows as soon as
# two of them train, whether they know of each other or not.
INCEPTIONV3_BATCH_SIZE = 32
N_INCEPTIONV3_STEPS = 2
N_WARMUP_STEPS = 2
# The same for all ways, so that only the way to start differs.
SETTINGS = {
    "OMP_NUM_THREADS": "1",
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_NUM_INTEROP_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "GLOO_SOCKET_IFNAME": "lo",
    # A rank that crashes says where.
    "PYTHONFAULTHANDLER": "1",
}


def prepare_rank():
    """Gives a rank one thread and one core; call it before a framework is imported."""
    os.environ.update(SETTINGS)
    # run() sets it; the other ways begin with the same value.
    os.environ.setdefault("HOROVOD_CYCLE_TIME", "5")
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[int(os.environ["LOCAL_RANK"]) % len(cores)]})


def train_digits_horovod():
    """Runs on a rank: returns when its first step was over, and images/s of all ranks."""
    prepare_rank()
    import keras
    from keras import layers

    network = keras.Sequential(
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
    return fit(network, DIGITS_BATCH_SIZE, N_DIGITS_STEPS)


def train_inceptionv3_horovod():
    """Runs on a rank: as `train_digits_horovod`."""
    prepare_rank()
    import keras

    return fit(
        keras.applications.InceptionV3(weights=None), INCEPTIONV3_BATCH_SIZE, N_INCEPTIONV3_STEPS
    )


def fit(network, batch_size, n_steps):
    """Trains with Horovod on random images, as the templates do."""
    import keras
    import numpy as np
    import tensorflow as tf

    import dsportal.horovod_keras as hvd

    hvd.init()

    class Clock(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 0:
                self.first_step_at = time.time()
            if batch == N_WARMUP_STEPS:
                self.began_s = time.perf_counter()
            if batch == N_WARMUP_STEPS + n_steps:
                self.took_s = time.perf_counter() - self.began_s

    chance = np.random.default_rng(hvd.rank())
    images = chance.random((batch_size, *network.input_shape[1:]), dtype=np.float32)
    labels = chance.integers(0, network.output_shape[-1], batch_size)
    network.compile(
        optimizer=hvd.DistributedOptimizer(keras.optimizers.SGD(0.01)),
        loss="sparse_categorical_crossentropy",
        jit_compile=False,
    )
    clock = Clock()
    options = tf.data.Options()
    # There is nothing to tune, and a tuner that misses the end keeps `fit` for up to a minute:
    # TensorFlow wakes it before it says that all is over, and with one core for all threads the
    # tuner often looks in between.
    options.autotune.enabled = False
    network.fit(
        tf.data.Dataset.from_tensors((images, labels)).cache().repeat().with_options(options),
        steps_per_epoch=1 + N_WARMUP_STEPS + n_steps,
        verbose=0,
        callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0), clock],
    )
    return {
        "first_step_at": clock.first_step_at,
        "images_per_s": hvd.size() * batch_size * n_steps / clock.took_s,
    }


def train_digits_torch():
    """Runs on a rank: as `train_digits_horovod`."""
    prepare_rank()
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    images = torch.rand((DIGITS_BATCH_SIZE, 1, 28, 28))
    labels = torch.randint(0, 10, (DIGITS_BATCH_SIZE,))
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

    step()
    first_step_at = time.time()
    for _ in range(N_WARMUP_STEPS):
        step()
    began_s = time.perf_counter()
    for _ in range(N_DIGITS_STEPS):
        step()
    n_images = dist.get_world_size() * DIGITS_BATCH_SIZE * N_DIGITS_STEPS
    images_per_s = n_images / (time.perf_counter() - began_s)
    # A rank that goes while its neighbour still reduces takes it down.
    dist.barrier()
    dist.destroy_process_group()
    return {"first_step_at": first_step_at, "images_per_s": images_per_s}


TRAININGS = {
    "horovod": train_digits_horovod,
    "torch": train_digits_torch,
    "inceptionv3": train_inceptionv3_horovod,
}


def from_a_cell(series, n_ranks):
    from dsportal import run

    began = time.time()
    found = run(TRAININGS[series], gpus=n_ranks)
    return since(began, found)


def from_srun(series):
    """Starts the ranks by srun alone, with a rendezvous that is there already."""
    from dsportal.rendezvous.store import Store
    from dsportal.task.environment import step_environment

    with Store() as store, socket.socket() as probe:
        address, port = store.horovod_address
        probe.bind(("127.0.0.1", 0))
        torch_port = probe.getsockname()[1]
        probe.close()
        srun = [
            *("srun", "--overlap", "--overcommit", f"--ntasks={N_RANKS}", "--nodes=1"),
            *("--mem=0", "--cpu-bind=none", "--mpi=none", "--kill-on-bad-exit=1", "--quiet"),
        ]
        return from_command(
            series,
            [*srun, sys.executable],
            {
                **step_environment(os.environ),
                "HOROVOD_GLOO_RENDEZVOUS_ADDR": address,
                "HOROVOD_GLOO_RENDEZVOUS_PORT": str(port),
                "MASTER_PORT": str(torch_port),
            },
        )


def from_launcher(series):
    """Starts the ranks by horovodrun or torchrun, as in a terminal of the notebook server."""
    programs = Path(sys.executable).parent
    starters = {
        "horovod": [
            *(programs / "horovodrun", "-np", str(N_RANKS), "-H", f"localhost:{N_RANKS}"),
            *("--gloo", "--disable-cache", sys.executable),
        ],
        "torch": [programs / "torchrun", "--standalone", "--nproc-per-node", str(N_RANKS)],
    }
    return from_command(series, starters[series], os.environ)


def from_two_alone(series):
    """Trains on each core by itself, at the same time: what two ranks could reach at most."""
    began = time.time()
    results = [Path(f"alone{number}.json").absolute() for number in range(N_RANKS)]
    environ = {**os.environ, **SETTINGS, "RANK": "0", "LOCAL_RANK": "0"}
    trainings = []
    for core, result in zip(sorted(os.sched_getaffinity(0)), results, strict=False):
        command = ["taskset", "--cpu-list", str(core), sys.executable, __file__]
        arguments = ["--rank", series, str(result)]
        trainings.append(subprocess.Popen([*command, *arguments], env=environ, stdout=sys.stderr))
    for training in trainings:
        if training.wait(timeout=300) != 0:
            raise subprocess.CalledProcessError(training.returncode, training.args)
    found = [since(began, json.loads(result.read_text())) for result in results]
    return {
        "images_per_s": sum(one["images_per_s"] for one in found),
        "first_step_s": max(one["first_step_s"] for one in found),
    }


def from_command(series, starter, environ):
    result = Path("found.json").absolute()
    result.unlink(missing_ok=True)
    programs = Path(sys.executable).parent
    environ = {**environ, **SETTINGS, "PATH": f"{programs}:{os.environ['PATH']}"}
    began = time.time()
    subprocess.run(
        [*starter, __file__, "--rank", series, result],
        env=environ,
        stdout=sys.stderr,
        check=True,
        timeout=300,
    )
    return since(began, json.loads(result.read_text()))


def since(began, found):
    return {**found, "first_step_s": found.pop("first_step_at") - began}


def name_rank(environ):
    """Gives the rank's place the names of Horovod and PyTorch, whoever started it."""
    if "HOROVOD_RANK" in environ:
        environ["LOCAL_RANK"] = environ["HOROVOD_LOCAL_RANK"]
    elif "RANK" not in environ:
        rank, size = environ["SLURM_PROCID"], environ["SLURM_NTASKS"]
        for prefix in ("", "LOCAL_"):
            environ[f"HOROVOD_{prefix}RANK"] = environ[f"{prefix}RANK"] = rank
            environ[f"HOROVOD_{prefix}SIZE"] = size
        environ.update(
            {
                "HOROVOD_CROSS_RANK": "0",
                "HOROVOD_CROSS_SIZE": "1",
                "HOROVOD_HOSTNAME": "localhost",
                "HOROVOD_CONTROLLER": "gloo",
                "HOROVOD_CPU_OPERATIONS": "gloo",
                "HOROVOD_GLOO_IFACE": "lo",
                "WORLD_SIZE": size,
                "MASTER_ADDR": "127.0.0.1",
            }
        )


def ways_of(series):
    ways = {"cell": lambda: from_a_cell(series, N_RANKS)}
    if series != "inceptionv3":
        ways |= {"srun": lambda: from_srun(series), "launcher": lambda: from_launcher(series)}
    if series == "inceptionv3":
        ways["two_alone"] = lambda: from_two_alone(series)
    if series != "torch":
        ways["cell_1_rank"] = lambda: from_a_cell(series, 1)
    return ways


def main(argv):
    if argv[0] == "--rank":
        name_rank(os.environ)
        found = TRAININGS[argv[1]]()
        if os.environ.get("HOROVOD_RANK", os.environ["LOCAL_RANK"]) == "0":
            Path(argv[2]).write_text(json.dumps(found))
        if argv[1] == "torch":
            # How Python takes PyTorch down is not measured, and must not fail a round.
            sys.stdout.flush()
            os._exit(0)
        return
    series, n_rounds = argv[0], int(argv[1])
    ways = ways_of(series)
    for number in range(n_rounds):
        # What comes first in a round takes turns, as the machine may be busy for a while.
        first = number % len(ways)
        for name in [*list(ways)[first:], *list(ways)[:first]]:
            print("FOUND", json.dumps({"way": name, **ways[name]()}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
