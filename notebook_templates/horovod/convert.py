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
# # From one GPU to all of them, step by step
#
# Begins with a notebook for one GPU and ends with the same training on all GPUs of the session, or
# on many nodes. Each step says what goes wrong without it.
#
# | | |
# |---|---|
# | **Data** | 10,000 digits of MNIST: 3,000 to train, 1,000 to validate, 2,000 to test |
# | **Time** | about one minute on 2 cores |
# | **Devices** | first one GPU, then all GPUs of the session; its cores if they are simulated |

# %%
import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

sys.path += [str(Path("../shared").resolve()), str(Path.home() / "templates/shared")]
from lesson import digits_path, explain_speedup

from dsportal import run

EPOCHS = 4
BATCH_SIZE = 64
RATE = 1e-3
WARMUP_EPOCHS = 2

# %% [markdown]
# ## Step 0: functions
#
# The training becomes a function: it imports and reads everything that it needs, and returns what
# you want to see afterwards. It may call other functions of the notebook, as `train_on_one` calls
# the three above it. It is the training that you have, and still runs on one GPU.


# %%
def load_digits():
    with np.load(digits_path()) as file:
        images, labels = file["x"], file["y"]
    order = np.random.default_rng(1).permutation(len(images))
    images = images[order, :, :, np.newaxis].astype("float32") / 255
    labels = labels[order].astype("int32")
    parts = (slice(3_000), slice(7_000, 8_000), slice(8_000, None))
    return [(images[part], labels[part]) for part in parts]  # training, validation, test


def make_model():
    import keras
    from keras import layers

    return keras.Sequential(
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


def checksum(model):
    import hashlib

    weights = b"".join(array.tobytes() for array in model.get_weights())
    return hashlib.sha256(weights).hexdigest()[:16]


def train_on_one():
    import keras

    (images, labels), validation, test = load_digits()
    model = make_model()
    model.compile(
        optimizer=keras.optimizers.Adam(RATE),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
        jit_compile=False,  # compiling with XLA pays for large models, not for a minute's training
    )
    began = time.perf_counter()
    history = model.fit(
        images,
        labels,
        batch_size=BATCH_SIZE,
        epochs=EPOCHS,
        validation_data=validation,
        verbose=0,
    )
    return {
        "steps": history.params["steps"] * EPOCHS,
        "images/s": EPOCHS * len(images) / (time.perf_counter() - began),
        "validation": history.history["val_accuracy"],
        "accuracy": model.evaluate(*test, verbose=0)[1],
        "weights": checksum(model),
    }


one = run(train_on_one, gpus=1)
print(f"{one['steps']} steps, test accuracy {one['accuracy']:.4f}")

# %% [markdown]
# ## What happens without the other steps
#
# `run` starts the function once for each GPU. Without further changes these are N separate
# trainings on the same images: N times the work for nothing, and N different networks. Nothing
# fails, so compare the checksums.

# %%
apart = run(train_on_one, results="all")
for number, rank in enumerate(apart):
    print(f"process {number}: {rank['steps']} steps, weights {rank['weights']}")

# %% [markdown]
# ## Steps 1 to 6
#
# | | what is added | without it |
# |---|---|---|
# | 1 | `hvd.init()` | the ranks do not know about each other |
# | 2 | every N-th image, from the rank's number on | each trains on all images: no time is saved |
# | 3 | `hvd.DistributedOptimizer` | gradients are not averaged: N networks that drift apart |
# | 4 | rate times `hvd.size()`, with a warm-up | fewer steps of the same length: it learns less |
# | 5 | `BroadcastGlobalVariablesCallback(0)` | ranks that start differently stay different |
# | 6 | only rank 0 prints, logs and saves | N processes write the same files at the same time |
#
# Use `dsportal.horovod_keras`. Horovod's own Keras module averages nothing under Keras 3 and
# does not say so; the portal refuses it.


# %%
def train_on_all(scales_rate=True):
    import keras

    import dsportal.horovod_keras as hvd

    hvd.init()  # 1
    (images, labels), validation, test = load_digits()
    n_images = len(images) // hvd.size() * hvd.size()
    mine = slice(hvd.rank(), n_images, hvd.size())  # 2
    rate = RATE * hvd.size() if scales_rate else RATE  # 4
    model = make_model()
    model.compile(
        optimizer=hvd.DistributedOptimizer(keras.optimizers.Adam(rate)),  # 3
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
        jit_compile=False,  # XLA cannot compile what Horovod exchanges
    )
    began = time.perf_counter()
    history = model.fit(
        images[mine],
        labels[mine],
        batch_size=BATCH_SIZE,
        epochs=EPOCHS,
        validation_data=validation,
        callbacks=[
            hvd.callbacks.BroadcastGlobalVariablesCallback(0),  # 5
            hvd.callbacks.LearningRateWarmupCallback(rate, warmup_epochs=WARMUP_EPOCHS),  # 4
        ],
        verbose=0,
    )
    seconds = time.perf_counter() - began
    if hvd.rank() == 0:  # 6
        model.save("digits.keras")
        print(f"{history.params['steps'] * EPOCHS} steps, saved as digits.keras", flush=True)
    return {
        "images/s": EPOCHS * n_images / seconds,
        "validation": history.history["val_accuracy"],
        "accuracy": model.evaluate(*test, verbose=0)[1],
        "weights": checksum(model),
    }


together = run(train_on_all, results="all")
n_ranks = len(together)
for number, rank in enumerate(together):
    print(f"rank {number}: weights {rank['weights']}")
print(f"Test accuracy: {together[0]['accuracy']:.4f}")

# %% [markdown]
# Was it faster? With validation and compiling, which every rank does for itself:

# %%
print(explain_speedup(one["images/s"], together[0]["images/s"], n_ranks))

# %% [markdown]
# ## The learning-rate rule
#
# With N ranks a step sees N times as many images, so an epoch has N times fewer steps. To make the
# same progress, each step is made N times longer: **rate of one GPU x N**. At the very start such
# steps diverge, so the rate is warmed up over some epochs (Goyal et al., 2017; they needed 5 of
# 90). For ResNet50 this works up to about 8,000 images a step; beyond that accuracy is lost
# whatever the rate.
#
# On the left is the rule, for 1 to 8 GPUs; on the right its result here, in as many epochs and 1/N
# of the steps.

# %%
unscaled = run(train_on_all, scales_rate=False)

# %% tags=["gallery"]
_, (left, right) = plt.subplots(1, 2, figsize=(9, 3.3), layout="constrained")
for n_gpus in (1, 2, 4, 8):
    climb = [RATE * (1 + (n_gpus - 1) * min(epoch / WARMUP_EPOCHS, 1)) for epoch in range(6)]
    left.plot(range(6), climb, marker=".", label=f"{n_gpus} GPUs" if n_gpus > 1 else "1 GPU")
left.set(xlabel="epoch", ylabel="learning rate", title=f"Warm-up over {WARMUP_EPOCHS} epochs")
epochs = range(1, EPOCHS + 1)
right.plot(epochs, one["validation"], marker=".", label="1 GPU")
right.plot(epochs, together[0]["validation"], marker=".", label=f"{n_ranks} GPUs, rate x {n_ranks}")
right.plot(epochs, unscaled["validation"], marker=".", label=f"{n_ranks} GPUs, same rate")
right.set(xlabel="epoch", ylabel="validation accuracy", xticks=epochs)
for axis in (left, right):
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False)

# %% [markdown]
# ## Only on rank 0, or on all?
#
# | only `if hvd.rank() == 0` | on every rank |
# |---|---|
# | `print`, progress bars | `hvd.init()`, building and compiling the model |
# | `TensorBoard(...)`, `ModelCheckpoint(...)` | reading its own part of the data |
# | `model.save(...)`, pictures | `model.fit`, `hvd.allreduce`, `hvd.broadcast` |
# | unpacking a data set, before the others read it | `MetricAverageCallback()` |
#
# A call that averages waits for all ranks. On rank 0 alone it waits for ever: the usual reason why
# a training hangs.
#
# **Early stopping** must be decided the same way everywhere: average the metric first, with
# `hvd.callbacks.MetricAverageCallback()` before `EarlyStopping(...)`.
#
# **Next:** the same function on two nodes, `run(train_on_all, gpus=8, nodes=2)`:
# [several nodes](../../templates/horovod/several_nodes.ipynb). For PyTorch:
# [all GPUs, and over nodes](../../templates/pytorch/distributed.ipynb).
