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
# # Checkpoint and resume
#
# A session ends at its time limit, a node can fail. A training that saves its whole state after
# each epoch loses one epoch at most. This notebook interrupts a training, continues from the
# checkpoint with a new model, and compares the result with an uninterrupted training: the weights
# are equal, to the last bit.
#
# | | |
# |---|---|
# | **Data** | 10,000 real digits of MNIST in `isilon`: 2,000 for training, 2,000 for testing |
# | **Time** | about one minute on 2 cores |
# | **Devices** | one GPU of the session; its cores if the GPUs are simulated; at the end all |

# %%
import sys
from pathlib import Path

sys.path.append("../shared")

import keras
import numpy as np
import tensorflow as tf
from charts import draw_lines, panels
from digits_data import load_digits
from digits_model import accuracy, describe_devices, make_model, weights_checksum

from dsportal import run

print(describe_devices())

# %% [markdown]
# ## What belongs to a checkpoint
#
# | what | where it is | without it |
# |---|---|---|
# | weights | in the `.keras` file | you start from nothing |
# | optimizer: its moments, its step | in the `.keras` file | a jump in the loss, a wrong rate |
# | random numbers of dropout | follow from the epoch, see `seed` | another training, no worse |
# | which epoch | in the file's name | the schedule starts again |
# | order of the images | follows from the epoch, see `batches_of` | some images are seen twice |
#
# `save_weights` keeps only the first line. Use `model.save`.

# %%
EPOCHS = 4
BREAKS_AFTER = 2
BATCH_SIZE = 64
CHECKPOINTS = Path("checkpoints")

tf.config.experimental.enable_op_determinism()
digits = load_digits().first(2_000)
images, labels = digits.train_images, digits.train_labels


def batches_of(epoch):
    order = np.random.default_rng(epoch).permutation(len(images))
    pairs = tf.data.Dataset.from_tensor_slices((images[order], labels[order]))
    return pairs.batch(BATCH_SIZE, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def seed(model, epoch):
    for variable in model.non_trainable_variables:
        if variable.path.endswith("seed_generator_state"):
            variable.assign([1, epoch])


def new_model():
    keras.utils.set_random_seed(1)
    model = make_model(moves_images=False)
    model.compile(
        optimizer=keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(2e-3, 31 * EPOCHS)),
        loss="sparse_categorical_crossentropy",
        jit_compile=False,
    )
    return model


# %% [markdown]
# ## Save, and find what was saved
#
# A file is written under another name first and then renamed, so that a checkpoint is either
# complete or absent. The last two are kept.


# %%
def save(model, epoch):
    CHECKPOINTS.mkdir(exist_ok=True)
    new = CHECKPOINTS / "new.keras"
    model.save(new)
    new.rename(CHECKPOINTS / f"epoch-{epoch:04}.keras")
    for old in sorted(CHECKPOINTS.glob("epoch-*.keras"))[:-2]:
        old.unlink()


def load():
    saved = sorted(CHECKPOINTS.glob("epoch-*.keras"))
    if not saved:
        return new_model(), 0
    epoch = int(saved[-1].stem.removeprefix("epoch-"))
    print(f"Goes on after epoch {epoch} from {saved[-1]}.")
    return keras.models.load_model(saved[-1]), epoch


def train(epochs, *, saves):
    model, first = load() if saves else (new_model(), 0)
    curve = []
    for epoch in range(first, epochs):
        seed(model, epoch)
        model.fit(batches_of(epoch), shuffle=False, verbose=0)
        curve.append((epoch + 1, accuracy(model, digits.test_images, digits.test_labels)))
        print(f"Epoch {curve[-1][0]}  test accuracy {curve[-1][1]:.4f}", flush=True)
        if saves:
            save(model, epoch + 1)
    return model, curve


# %% [markdown]
# ## An uninterrupted training

# %%
whole_model, whole = train(EPOCHS, saves=False)

# %% [markdown]
# ## An interrupted training, and its continuation
#
# Here the first call simply ends after two epochs. In real work that is the end of the session;
# open the notebook in the next one and run the same cell again.

# %%
for path in CHECKPOINTS.glob("*.keras"):
    path.unlink()

_, before = train(BREAKS_AFTER, saves=True)
keras.backend.clear_session()
resumed_model, after = train(EPOCHS, saves=True)

# %% tags=["gallery"]
axis = panels(1)[0]
lines = {"never broken off": whole, "until the break": before, "after it": after}
draw_lines(
    axis,
    {name: tuple(zip(*curve, strict=True)) for name, curve in lines.items()},
    xlabel="epoch",
    ylabel="test accuracy",
)
axis.get_lines()[0].set(linewidth=7, alpha=0.25)
axis.axvline(BREAKS_AFTER + 0.5, color="#9aa5b1", linestyle="--")
axis.annotate("break", (BREAKS_AFTER + 0.5, whole[0][1]), xytext=(5, 0), textcoords="offset points")
axis.set_xticks(range(1, EPOCHS + 1))
sums = [weights_checksum(model) for model in (whole_model, resumed_model)]
print("checksums of the weights:", *sums)
print("Both ended with equal weights." if sums[0] == sums[1] else "The weights differ.")

# %% [markdown]
# Equal bits need `enable_op_determinism`, which costs some speed. Without it both trainings are
# equally good, but not equal.
#
# ## On all GPUs, and over the time limit
#
# In a function for `dsportal.run`, one callback does all of this: it saves after each epoch,
# and once more when Slurm warns that the time limit is near; then all ranks end. `resume=True`
# continues with the checkpoints of the newest run of the same function.
#
# Here the first run trains one epoch, the second two.


# %%
def train_on_ranks(epochs):
    from digits_model import accuracy, make_model

    import dsportal.horovod_keras as hvd

    hvd.init()
    mine = load_digits().first(2_000).share(hvd.rank(), hvd.size())
    model = make_model(moves_images=False)
    model.compile(
        optimizer=hvd.DistributedOptimizer(keras.optimizers.Adam(1e-3 * hvd.size())),
        loss="sparse_categorical_crossentropy",
        jit_compile=False,
    )
    history = model.fit(
        mine.train_images,
        mine.train_labels,
        batch_size=BATCH_SIZE,
        epochs=epochs,
        callbacks=[
            hvd.callbacks.CheckpointCallback(),
            hvd.callbacks.BroadcastGlobalVariablesCallback(0),
        ],
        verbose=0,
    )
    trained = [epoch + 1 for epoch in history.epoch]
    return trained, accuracy(model, mine.test_images, mine.test_labels)


for epochs, is_resumed in ((1, False), (2, True)):
    trained, test_accuracy = run(train_on_ranks, epochs, resume=is_resumed)
    print(f"trained epochs {trained}, test accuracy {test_accuracy:.4f}")

# %% [markdown]
# For a training of days, start a separate job, which outlives the session:
# `run(train_on_ranks, 90, gpus=8, nodes=2, wait=False)`. When it has reached its limit, the same
# call with `resume=True` continues.

# %%
print(f"Figure: accuracy = {after[-1][1]:.4f}")
