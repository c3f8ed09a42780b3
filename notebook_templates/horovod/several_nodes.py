# ---
# jupyter:
#   kernelspec:
#     display_name: TensorFlow
#     language: python
#     name: tensorflow
#   portal:
#     packages: [cloudpickle, horovod, keras>=3, matplotlib, numpy, tensorflow]
# ---
# ruff: noqa: D100, D103

# %% [markdown]
# # Training on several nodes
#
# To use more GPUs than one node or your session has, add one argument: `nodes=2`. The training
# becomes a separate Slurm job that waits in the queue, runs while you do other things, and
# continues when you close the browser.
#
# | | |
# |---|---|
# | **Data** | 10,000 digits of MNIST: 7,000 to train, 1,000 to validate, 2,000 to test |
# | **Time** | half a minute with 2 ranks on 2 cores, and the time in the queue |
# | **Devices** | one GPU on each of two nodes, in addition to those of the session |

# %%
import sys
from pathlib import Path

import numpy as np

sys.path += [str(Path("../shared").resolve()), str(Path.home() / "templates/shared")]
from lesson import digits_path, draw_curves, explain_speedup

from dsportal import attach, run, runs

# %% [markdown]
# ## The function
#
# [The converted training](../../templates/horovod/convert.ipynb), where each line is explained.
# Nothing in it knows how many nodes there are.


# %%
def load_digits():
    with np.load(digits_path()) as file:
        images, labels = file["x"], file["y"]
    order = np.random.default_rng(1).permutation(len(images))
    images = images[order, :, :, np.newaxis].astype("float32") / 255
    labels = labels[order].astype("int32")
    ends = [7_000, 8_000]  # training, validation, test
    return list(zip(np.split(images, ends), np.split(labels, ends), strict=True))


def train(epochs):
    import hashlib
    import os
    import time

    import keras
    from keras import layers

    import dsportal.horovod_keras as hvd

    hvd.init()
    keras.utils.set_random_seed(1 + hvd.rank())
    (images, labels), validation, test = load_digits()
    n_images = len(images) // hvd.size() * hvd.size()
    mine = slice(hvd.rank(), n_images, hvd.size())
    model = keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(128, activation="relu"),
            layers.Dropout(0.4),
            layers.Dense(10, activation="softmax"),
        ]
    )
    rate = 1e-3 * hvd.size()
    model.compile(
        optimizer=hvd.DistributedOptimizer(keras.optimizers.Adam(rate)),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
        jit_compile=False,  # XLA cannot compile what Horovod exchanges
    )
    seconds = []

    class Clock(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            self.began = time.perf_counter()

        def on_test_begin(self, logs=None):  # the validation is not timed
            seconds.append(time.perf_counter() - self.began)

    history = model.fit(
        images[mine],
        labels[mine],
        batch_size=64,
        epochs=epochs,
        validation_data=validation,
        callbacks=[
            Clock(),
            hvd.callbacks.BroadcastGlobalVariablesCallback(0),
            hvd.callbacks.LearningRateWarmupCallback(rate, warmup_epochs=1),
        ],
        verbose=2 if hvd.rank() == 0 else 0,
    )
    weights = b"".join(array.tobytes() for array in model.get_weights())
    return {
        "rank": hvd.rank(),
        "node": os.environ["SLURMD_NODENAME"],
        "images": len(images[mine]),
        "images/s": n_images / min(seconds),
        "weights": hashlib.sha256(weights).hexdigest()[:16],
        "validation": history.history["val_accuracy"],
        "accuracy": model.evaluate(*test, verbose=0)[1],
    }


# %% [markdown]
# ## Start it
#
# `wait=False` returns at once. Without it the cell would say why the job waits, then show what rank
# 0 prints, and the interrupt button would stop the job.

# %%
training = run(train, epochs=4, gpus=2, nodes=2, results="all", wait=False)
runs()

# %% [markdown]
# ## Come back to it
#
# Tomorrow, in another notebook, `runs()` lists your runs and `attach` finds one by part of its
# name. `wait()` shows its output from the start and returns what the ranks returned.

# %%
training = attach(training.id)
ranks = training.wait()

# %% [markdown]
# ## Who did what
#
# Each rank trained on a different half of the images, on a different node. Since the gradients were
# averaged over the network at each step, all weights are equal.

# %%
print("rank  node        images  checksum of the weights")
for rank in ranks:
    print("{rank:4}  {node:10}  {images:6,}  {weights:>23}".format(**rank))
n_different = len({rank["weights"] for rank in ranks})
print("All ranks have equal weights." if n_different == 1 else "The weights differ!")
print(f"Test accuracy: {ranks[0]['accuracy']:.4f}")

# %% [markdown]
# ## Was it faster?
#
# The same function on one GPU of the session, for two epochs.

# %%
(one,) = run(train, epochs=2, gpus=1, results="all")
print(explain_speedup(one["images/s"], ranks[0]["images/s"], len(ranks)))

# %%
draw_curves({"one rank": one["validation"], "2 ranks on 2 nodes": ranks[0]["validation"]})

# %% [markdown]
# ## More options
#
# | | |
# |---|---|
# | `training.output(1)` | what rank 1 printed; also in `~/portal-runs` |
# | `training.stop()` | stops it |
# | `run(..., hours=2)` | a shorter limit; short jobs often start earlier |
# | `run(..., resume=True)` | [resumes from checkpoints](../../templates/tensorflow/resume.ipynb) |
# | `hvd.callbacks.ProgressCallback(64)` | one bar for all ranks in the cell |
#
# **How many nodes?** [A scaling study](../../templates/scaling/study.ipynb) measures your model and
# says how many GPUs are worth using.
