"""Training with Horovod from a session, as in a notebook; run as `training_cases.py CASE...`.

The environment, the outcome lines and the folders are those of tests/support/launch_cases.py.
"""

import os
import signal
import sys
from pathlib import Path

import launch_cases
import numpy as np

from dsportal import LaunchError, attach, run

N_STEPS = 12
GLOBAL_BATCH = 32


def make_model():
    """Return a model with an embedding, whose gradient is sparse, and without chance."""
    import keras
    from keras import layers

    keras.utils.set_random_seed(5)
    words = keras.Input((6,), dtype="int32")
    text = layers.Flatten()(layers.Embedding(20, 4)(words))
    hidden = layers.Dense(16, activation="tanh")(text)
    return keras.Model(words, layers.Dense(3, activation="softmax")(hidden))


def make_data():
    """Return words int32 (n, 6) and labels int32 (n,) for all steps, the same everywhere."""
    chance = np.random.default_rng(3)
    words = chance.integers(0, 20, (N_STEPS * GLOBAL_BATCH, 6), dtype=np.int32)
    return words, (words.sum(axis=1) % 3).astype(np.int32)


def compile_model(model, optimizer):
    model.compile(optimizer=optimizer, loss="sparse_categorical_crossentropy", jit_compile=False)


def make_optimizer():
    import keras

    return keras.optimizers.Adam(0.01, clipnorm=0.5)


def train_on_ranks():
    """Runs on a rank: every step on its part of the same global batch."""
    import dsportal.horovod_keras as hvd

    hvd.init()
    model = make_model()
    if hvd.rank() != 0:
        model.set_weights([weights + 1 for weights in model.get_weights()])
    compile_model(model, hvd.DistributedOptimizer(make_optimizer()))
    words, labels = make_data()
    mine = np.arange(len(words)) % GLOBAL_BATCH // (GLOBAL_BATCH // hvd.size()) == hvd.rank()
    metrics = {"mine": float(hvd.rank())}
    hvd.callbacks.MetricAverageCallback().on_epoch_end(0, metrics)
    model.fit(
        words[mine],
        labels[mine],
        batch_size=GLOBAL_BATCH // hvd.size(),
        shuffle=False,
        verbose=0,
        callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)],
    )
    return {
        "weights": model.get_weights(),
        "average_of_ranks": metrics["mine"],
    }


def train_alone():
    """Return the weights after one process took the same global batches with stock Keras."""
    model = make_model()
    compile_model(model, make_optimizer())
    words, labels = make_data()
    model.fit(words, labels, batch_size=GLOBAL_BATCH, shuffle=False, verbose=0)
    return model.get_weights()


def case_gradients():
    """Two ranks on one node against one process with the same global batch."""
    return compare_with_one_process()


def case_gradients_on_two_nodes():
    """One rank on each of two nodes against one process with the same global batch."""
    return compare_with_one_process(gpus=2, nodes=2)


def case_gradients_of_2x2_ranks():
    """Two ranks on each of two nodes."""
    return compare_with_one_process(gpus=4, nodes=2)


def case_gradients_of_4x1_ranks():
    """One rank on each of four nodes."""
    return compare_with_one_process(gpus=4, nodes=4)


def compare_with_one_process(**shape):
    first, *others = run(train_on_ranks, results="all", **shape)
    alone = train_alone()
    return {
        "ranks_equal": all(
            np.array_equal(a, b)
            for other in others
            for a, b in zip(first["weights"], other["weights"], strict=True)
        ),
        "largest_difference": max(
            float(np.abs(a - b).max()) for a, b in zip(first["weights"], alone, strict=True)
        ),
        "largest_weight": max(float(np.abs(a).max()) for a in alone),
        "average_of_ranks": [rank["average_of_ranks"] for rank in (first, *others)],
    }


def report_on_ranks():
    """Runs on a rank: two epochs of which the cell shows every step."""
    import dsportal.horovod_keras as hvd

    hvd.init()
    model = make_model()
    compile_model(model, hvd.DistributedOptimizer(make_optimizer()))
    model.fit(
        *make_data(),
        batch_size=GLOBAL_BATCH,
        epochs=2,
        verbose=0,
        callbacks=[
            hvd.callbacks.BroadcastGlobalVariablesCallback(0),
            hvd.callbacks.ProgressCallback(GLOBAL_BATCH),
        ],
    )


def case_keras_progress():
    """The callback that feeds the bar."""
    run(report_on_ranks)
    last = attach().progress
    return {"step": last.step, "n_steps": last.n_steps, "rate": last.images_per_s}


def save_and_warm_up(folder):
    """Runs on a rank: warms up the learning rate, and rank 0 saves the model."""
    import keras

    import dsportal.horovod_keras as hvd

    rates = []

    class Rates(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            rates.append(float(self.model.optimizer.learning_rate))

    hvd.init()
    model = make_model()
    compile_model(model, hvd.DistributedOptimizer(keras.optimizers.SGD(0.2, momentum=0.9)))
    words, labels = make_data()
    model.fit(
        words,
        labels,
        batch_size=GLOBAL_BATCH,
        epochs=3,
        verbose=0,
        callbacks=[
            hvd.callbacks.BroadcastGlobalVariablesCallback(0),
            hvd.callbacks.LearningRateWarmupCallback(0.2, warmup_epochs=2),
            Rates(),
        ],
    )
    if hvd.rank() == 0:
        model.save(f"{folder}/model.keras")
    return rates


def case_save_and_warm_up():
    """The learning rates of each step, and the saved model in another process without Horovod."""
    rates = run(save_and_warm_up, str(Path.cwd()))
    import keras

    loaded = keras.models.load_model("model.keras")
    return {"rates": rates, "optimizer": type(loaded.optimizer).__qualname__}


def stock_optimizer():
    """Runs on a rank: what tutorials for Keras 2 say."""
    import horovod.tensorflow.keras as hvd

    hvd.init()
    hvd.DistributedOptimizer(make_optimizer())


def forgotten_optimizer():
    """Runs on a rank: broadcasts, and never averages."""
    import dsportal.horovod_keras as hvd

    hvd.init()
    model = make_model()
    compile_model(model, make_optimizer())
    words, labels = make_data()
    broadcast = hvd.callbacks.BroadcastGlobalVariablesCallback(0)
    model.fit(words, labels, callbacks=[broadcast], verbose=0)


def no_gloo():
    """Runs on a rank: a Horovod that was not told of the others."""
    for name in [name for name in os.environ if name.startswith("HOROVOD_")]:
        del os.environ[name]
    import dsportal.horovod_keras as hvd

    hvd.init()


def train_in_two_parts(n_epochs, stop_in_epoch):
    """Runs on a rank: trains, as if the time limit came in one epoch."""
    import keras

    import dsportal.horovod_keras as hvd

    begun = []

    class Limit(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            begun.append(epoch)
            if epoch == stop_in_epoch:
                os.kill(os.getpid(), signal.SIGUSR1)

    hvd.init()
    model = make_model()
    compile_model(model, hvd.DistributedOptimizer(make_optimizer()))
    model.fit(
        *make_data(),
        epochs=n_epochs,
        verbose=0,
        callbacks=[
            Limit(),
            hvd.callbacks.CheckpointCallback(),
            hvd.callbacks.BroadcastGlobalVariablesCallback(0),
        ],
    )
    return {"begun": begun, "steps": int(model.optimizer.iterations.numpy())}


def case_checkpoint():
    """Keras is told of the limit in its third epoch, and a second run goes on there."""
    first = run(train_in_two_parts, 4, 2)
    second = run(train_in_two_parts, 4, None, resume=True)
    return {"first": first, "second": second}


def case_refusals():
    """Every way to train side by side without averaging."""
    refusals = {}
    for function in (stock_optimizer, forgotten_optimizer, no_gloo):
        try:
            run(function)
        except LaunchError as error:
            refusals[function.__name__] = str(error)
    return refusals


def exit_while_averaging():
    """Runs on a rank: rank 1 exits, and rank 0 loses it while it averages."""
    import tensorflow as tf

    import dsportal.horovod_keras as hvd

    hvd.init()
    if hvd.rank() == 1:
        os._exit(9)
    for _ in range(100):
        hvd.allreduce(tf.ones(1))


def case_exit_in_training():
    """Rank 1 exits while Horovod averages."""
    return launch_cases.failure_of(run, exit_while_averaging)


if __name__ == "__main__":
    launch_cases.main(sys.argv[1:], globals())
