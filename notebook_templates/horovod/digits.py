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
# # Handwritten digits with Horovod on all GPUs of the session
#
# Trains [this network](../../templates/tensorflow/digits.ipynb) with one process, a *rank*, on each
# GPU. The ranks train on different images and average their gradients after each step.
# At the end: was it faster than one GPU?
#
# | | |
# |---|---|
# | **Data** | 10,000 digits of MNIST: 7,000 to train, 1,000 to validate, 2,000 to test |
# | **Time** | about half a minute with 2 ranks on 2 cores |
# | **Devices** | all GPUs of the session; its cores if the GPUs are simulated |
#
# Choose *Run*, *Restart Kernel and Run All Cells*. A session with 2 GPUs trains with 2 ranks.

# %%
import sys
from pathlib import Path

import numpy as np

sys.path += [str(Path("../shared").resolve()), str(Path.home() / "templates/shared")]
from lesson import digits_path, draw_curves, explain_speedup

from dsportal import run


def load_digits():
    with np.load(digits_path()) as file:
        images, labels = file["x"], file["y"]
    order = np.random.default_rng(1).permutation(len(images))
    images = images[order, :, :, np.newaxis].astype("float32") / 255
    labels = labels[order].astype("int32")
    ends = [7_000, 8_000]  # training, validation, test
    return list(zip(np.split(images, ends), np.split(labels, ends), strict=True))


for name, (images, _) in zip(("training", "validation", "test"), load_digits(), strict=True):
    print(f"{len(images):,} {name} images")

# %% [markdown]
# ## What each rank does
#
# The same as on one GPU, except for the lines with a number:
#
# 1. The ranks find each other.
# 2. Each rank takes its own part of the training images: every N-th.
# 3. The learning rate is multiplied by N. With N ranks a step sees N times as many images, so an
#    epoch has N times fewer steps, and each one has to be longer.
# 4. The optimizer averages the gradients over all ranks at each step. Use the one from
#    `dsportal.horovod_keras`; Horovod's own does not average under Keras 3, and is refused.
# 5. All ranks start from the weights of rank 0.
# 6. The rate is warmed up to its N-fold value over the first epochs, or the first long steps
#    diverge (Goyal et al., 2017).
# 7. Only rank 0 prints and writes logs; the others would say the same.

# %%
BATCH_SIZE_PER_RANK = 64
RATE_OF_ONE_RANK = 1e-3


def train(epochs):
    import hashlib
    import time

    import keras
    from keras import layers

    import dsportal.horovod_keras as hvd

    hvd.init()  # 1
    keras.utils.set_random_seed(1 + hvd.rank())
    (images, labels), validation, test = load_digits()
    n_images = len(images) // hvd.size() * hvd.size()
    mine = slice(hvd.rank(), n_images, hvd.size())  # 2
    rate = RATE_OF_ONE_RANK * hvd.size()  # 3
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
    model.compile(
        optimizer=hvd.DistributedOptimizer(keras.optimizers.Adam(rate)),  # 4
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

    callbacks = [
        Clock(),
        hvd.callbacks.BroadcastGlobalVariablesCallback(0),  # 5
        hvd.callbacks.LearningRateWarmupCallback(rate, warmup_epochs=2),  # 6
    ]
    if hvd.rank() == 0:  # 7
        callbacks.append(keras.callbacks.TensorBoard(f"logs/{hvd.size()}-ranks"))
    history = model.fit(
        images[mine],
        labels[mine],
        batch_size=BATCH_SIZE_PER_RANK,
        epochs=epochs,
        validation_data=validation,
        callbacks=callbacks,
        verbose=2 if hvd.rank() == 0 else 0,  # 7
    )
    weights = b"".join(array.tobytes() for array in model.get_weights())
    return {
        "rank": hvd.rank(),
        "images": len(images[mine]),
        "images/s": n_images / min(seconds),
        "weights": hashlib.sha256(weights).hexdigest()[:16],
        "validation": history.history["val_accuracy"],
        "accuracy": model.evaluate(*test, verbose=0)[1],
    }


# %% [markdown]
# ## Training
#
# `run` starts the ranks inside this session, shows what rank 0 prints, and returns what the
# function returned. The interrupt button stops all ranks. `results="all"` returns the results of
# every rank, `show="all"` shows the output of every rank, `gpus=1` uses only one GPU.

# %%
ranks = run(train, epochs=6, results="all")
print(f"Test accuracy: {ranks[0]['accuracy']:.4f}")

# %% [markdown]
# ## All ranks have the same weights
#
# Each rank saw different images. Since the gradients were averaged at every step, all of them end
# with the same weights, to the last bit.

# %%
print("rank  images  checksum of the weights")
for rank in ranks:
    print("{rank:4}  {images:6,}  {weights:>23}".format(**rank))
n_different = len({rank["weights"] for rank in ranks})
print("All ranks have equal weights." if n_different == 1 else "The weights differ!")

# %% [markdown]
# ## Was it faster?
#
# The same training on one GPU, for two epochs. A rate is that of the fastest epoch, as the first
# one compiles.

# %%
(one,) = run(train, epochs=2, gpus=1, results="all")
print(explain_speedup(one["images/s"], ranks[0]["images/s"], len(ranks)))

# %%
draw_curves({"one rank": one["validation"], f"{len(ranks)} ranks": ranks[0]["validation"]})

# %% [markdown]
# **Next:** [convert your own notebook](../../templates/horovod/convert.ipynb) step by step,
# [use more GPUs than the session has](../../templates/horovod/several_nodes.ipynb).
