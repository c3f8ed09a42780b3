# ---
# jupyter:
#   kernelspec:
#     display_name: TensorFlow
#     language: python
#     name: tensorflow
#   portal:
#     packages: [cloudpickle, horovod, keras>=3, matplotlib, numpy, tensorflow]
# ---
# ruff: noqa: D100, D101, D102, D103

# %% [markdown]
# # Checkpoint and resume
#
# A session ends at its time limit, a node can fail. A training that saves its whole state after
# each epoch loses one epoch at most. This notebook interrupts a training, continues it from the
# checkpoint as the next session would, and compares the result with an uninterrupted training.
#
# | | |
# |---|---|
# | **Data** | 10,000 digits of MNIST: 2,000 to train, 1,000 to validate |
# | **Time** | half a minute on 2 cores |
# | **Devices** | one GPU of the session; its cores if the GPUs are simulated; at the end all |

# %%
import shutil
import sys
from pathlib import Path

import keras
import numpy as np
from keras import layers

sys.path += [str(Path("../shared").resolve()), str(Path.home() / "templates/shared")]
from lesson import digits_path, draw_curves

from dsportal import run

# %% [markdown]
# ## What belongs to a checkpoint
#
# | what | without it |
# |---|---|
# | the weights | you start from nothing |
# | the optimizer: its moments, its step | a jump in the loss, a wrong learning rate |
# | the number of the epoch | the schedule starts again |
#
# `save_weights` keeps only the first line. Keras' own `BackupAndRestore` keeps weights, optimizer
# and epoch; `ModelCheckpoint` keeps the best model, and a `.keras` file holds all but the epoch.
# Both are callbacks: add two lines to the `fit` that you have.

# %%
EPOCHS = 6
BATCH_SIZE = 64


def load_digits():
    with np.load(digits_path()) as file:
        images, labels = file["x"], file["y"]
    order = np.random.default_rng(1).permutation(len(images))
    images = images[order, :, :, np.newaxis].astype("float32") / 255
    return images, labels[order].astype("int32")


def make_model():
    keras.utils.set_random_seed(1)
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


images, labels = load_digits()
train_images, validation_images = images[:2_000], images[7_000:8_000]
train_labels, validation_labels = labels[:2_000], labels[7_000:8_000]


def train(callbacks, epochs=EPOCHS):
    model = make_model()
    model.compile(
        optimizer=keras.optimizers.Adam(1e-3),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
        jit_compile=False,  # compiling with XLA pays for large models, not for a minute's training
    )
    history = model.fit(
        train_images,
        train_labels,
        batch_size=BATCH_SIZE,
        epochs=epochs,
        validation_data=(validation_images, validation_labels),
        callbacks=callbacks,
        verbose=2,
    )
    return [epoch + 1 for epoch in history.epoch], history.history["val_accuracy"]


# %% [markdown]
# ## An uninterrupted training

# %%
_, whole = train([])

# %% [markdown]
# ## An interrupted one
#
# The callback `Stop` ends the training in the middle of the fourth epoch, as the time limit of a
# session would.

# %%
CHECKPOINTS = Path("checkpoints")


def callbacks():
    return [
        keras.callbacks.BackupAndRestore(CHECKPOINTS / "backup"),
        keras.callbacks.ModelCheckpoint(
            CHECKPOINTS / "best.keras", monitor="val_accuracy", save_best_only=True
        ),
    ]


class Stop(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if self.model.optimizer.iterations >= 3.5 * len(train_images) // BATCH_SIZE:
            raise KeyboardInterrupt("the session ended")


shutil.rmtree(CHECKPOINTS, ignore_errors=True)
try:
    train([*callbacks(), Stop()])
except KeyboardInterrupt as reason:
    print(f"Interrupted: {reason}.")

# %% [markdown]
# ## The next session
#
# Run the same cells again: a new model, the same callbacks. `BackupAndRestore` finds what was saved
# and continues with the epoch that was interrupted. When the training is complete, it removes its
# backup.

# %%
epochs, after = train(callbacks())
print(f"Trained epochs {epochs}.")

# %% tags=["gallery"]
nothing = [float("nan")] * (EPOCHS - len(after))
draw_curves({"uninterrupted": whole, "resumed": nothing + after})
best = keras.models.load_model(CHECKPOINTS / "best.keras")
_, accuracy = best.evaluate(validation_images, validation_labels, verbose=0)
print(f"Validation accuracy: {accuracy:.4f}")

# %% [markdown]
# The curves differ a little: dropout and the order of the images draw other random numbers after a
# restart. That training is as good, but not the same to the last bit.
#
# ## On all GPUs, and over the time limit
#
# In a function for `dsportal.run`, one callback does all of this: it saves after each epoch, and
# once more when Slurm warns that the time limit is near; then all ranks end. `resume=True`
# continues with a copy of the checkpoints of the newest run of the same function, and says first
# which run that is.
#
# Here the first run trains one epoch, the second two.


# %%
def train_on_ranks(epochs):
    import dsportal.horovod_keras as hvd

    hvd.init()
    mine = slice(hvd.rank(), 2_000, hvd.size())
    images, labels = load_digits()
    model = make_model()
    model.compile(
        optimizer=hvd.DistributedOptimizer(keras.optimizers.Adam(1e-3 * hvd.size())),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
        jit_compile=False,  # XLA cannot compile what Horovod exchanges
    )
    history = model.fit(
        images[mine],
        labels[mine],
        batch_size=BATCH_SIZE,
        epochs=epochs,
        callbacks=[
            hvd.callbacks.CheckpointCallback(),
            hvd.callbacks.BroadcastGlobalVariablesCallback(0),
        ],
        verbose=0,
    )
    trained = [epoch + 1 for epoch in history.epoch]
    return trained, model.evaluate(images[7_000:8_000], labels[7_000:8_000], verbose=0)[1]


for epochs, is_resumed in ((1, False), (2, True)):
    trained, accuracy = run(train_on_ranks, epochs, resume=is_resumed)
    print(f"trained epochs {trained}, validation accuracy {accuracy:.4f}")

# %% [markdown]
# In another framework, save with `checkpoint.writing`: a rank that is killed while it saves then
# leaves the last whole checkpoint.
#
#     from dsportal import checkpoint
#
#     saved = checkpoint.latest("state.pt")          # None at the first start
#     with checkpoint.writing("state.pt") as path:
#         torch.save(state, path)
#
# For a training of days, start a separate job, which outlives the session:
# `run(train_on_ranks, 90, gpus=8, nodes=2, wait=False)`. When it has reached its limit, the same
# call with `resume=True` continues.
