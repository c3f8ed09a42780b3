# ---
# jupyter:
#   kernelspec:
#     display_name: TensorFlow
#     language: python
#     name: tensorflow
#   portal:
#     packages: [keras>=3, matplotlib, numpy, tensorflow]
# ---
# ruff: noqa: D100, D103

# %% [markdown]
# # A training loop of your own, fed by tf.data
#
# `model.fit` does most things. Write the loop yourself when a step is more than "predict, compare,
# correct": several losses, several networks, clipped gradients, another rhythm. Here is a minimal
# loop that does it well, and an input pipeline that keeps it busy.
#
# | | |
# |---|---|
# | **Data** | 10,000 digits of MNIST: 7,000 to train, 1,000 to validate, 2,000 to test |
# | **Time** | 20 seconds on 2 cores, seconds on a GPU |
# | **Devices** | one GPU of the session; its cores if the GPUs are simulated |

# %%
import sys
import time
from datetime import datetime
from pathlib import Path

import keras
import matplotlib.pyplot as plt
import numpy as np
import tensorflow as tf
from keras import layers

sys.path += [str(Path("../shared").resolve()), str(Path.home() / "templates/shared")]
from lesson import digits_path, draw_digits

print(f"TensorFlow {tf.__version__}, Keras {keras.__version__}")

# %% [markdown]
# ## The input
#
# Each line of the pipeline is there for a reason:
#
# | step | why |
# |---|---|
# | `cache` | what costs the most, reading and decoding, is done once |
# | `shuffle` | after the cache, so that each epoch has its own order |
# | `map`, on all cores | each image is moved by up to 2 pixels, differently in each epoch |
# | `batch` | only whole batches: the step is compiled for one shape |
# | `prefetch` | the next batches are made while the model works on this one |

# %%
BATCH_SIZE = 64


def move(image, label):
    padded = tf.pad(image, [[2, 2], [2, 2], [0, 0]])
    return tf.image.random_crop(padded, (28, 28, 1)), label


def make_batches(images, labels):
    return (
        tf.data.Dataset.from_tensor_slices((images, labels))
        .cache()
        .shuffle(len(images), seed=1)
        .map(move, num_parallel_calls=tf.data.AUTOTUNE)
        .batch(BATCH_SIZE, drop_remainder=True)
        .prefetch(tf.data.AUTOTUNE)
    )


keras.utils.set_random_seed(1)
with np.load(digits_path()) as file:
    images, labels = file["x"], file["y"]
order = np.random.default_rng(1).permutation(len(images))
images = images[order, :, :, np.newaxis].astype("float32") / 255
labels = labels[order].astype("int32")
train_images, validation_images, test_images = np.split(images, [7_000, 8_000])
train_labels, validation_labels, test_labels = np.split(labels, [7_000, 8_000])

batches = make_batches(train_images, train_labels)
first_images, first_labels = next(iter(batches))
draw_digits(first_images.numpy(), first_labels.numpy())

# %% [markdown]
# ## One step
#
# `tf.function` compiles the step; without it, Python would run between any two operations. The tape
# records what the model does, so that the gradients can be computed. They are clipped to a norm of
# 2: one strange batch cannot throw the weights far.
#
# Two lines are there because this is Keras 3 and TensorFlow together. `optimizer.build` makes the
# optimizer's own variables, its moments, before the first step: TensorFlow does not let a compiled
# step make variables. And the tape takes TensorFlow's variables, which Keras' variables hold in
# `.value`.

# %%
EPOCHS = 4
MAX_NORM = 2.0

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
        layers.Dense(10),
    ]
)
n_steps = EPOCHS * len(batches)
optimizer = keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(2e-3, n_steps))
optimizer.build(model.trainable_variables)
cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def train_step(images, labels):
    with tf.GradientTape() as tape:
        loss = cross_entropy(labels, model(images, training=True))
    gradients = tape.gradient(loss, [variable.value for variable in model.trainable_variables])
    gradients, norm = tf.clip_by_global_norm(gradients, MAX_NORM)
    optimizer.apply(gradients, model.trainable_variables)
    return loss, norm


def accuracy(images, labels):
    logits = model(images, training=False)
    return float(np.mean(np.argmax(logits, axis=1) == labels))


# %% [markdown]
# ## The loop
#
# Results stay on the device until they are read: `float(loss)` waits for the step, so the loop does
# it once an epoch and not once a step. The logs are for TensorBoard.

# %%
log = tf.summary.create_file_writer(f"logs/loop_{datetime.now():%Y-%m-%d_%H.%M.%S}")
losses, norms, rates = [], [], []
for epoch in range(EPOCHS):
    began = time.perf_counter()
    steps = [train_step(images, labels) for images, labels in batches]
    losses += [float(loss) for loss, _ in steps]
    norms += [float(norm) for _, norm in steps]
    rates.append(len(steps) * BATCH_SIZE / (time.perf_counter() - began))
    validation = accuracy(validation_images, validation_labels)
    with log.as_default(step=len(losses)):
        tf.summary.scalar("loss", np.mean(losses[-len(steps) :]))
        tf.summary.scalar("validation accuracy", validation)
    print(
        f"Epoch {epoch + 1}  loss {np.mean(losses[-len(steps) :]):.3f}  "
        f"validation accuracy {validation:.4f}  {rates[-1]:,.0f} images/s",
        flush=True,
    )
print(f"Test accuracy: {accuracy(test_images, test_labels):.4f}")

# %% tags=["gallery"]
_, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for axis, values, title in zip(
    axes, (losses, norms), ("loss of each step", "norm of its gradient"), strict=True
):
    axis.plot(values, color="#9aa5b1", linewidth=0.6)
    mean = np.convolve(values, np.full(25, 1 / 25), mode="valid")
    axis.plot(np.arange(len(mean)) + 12, mean, color="#0b6bcb", label="mean of 25 steps")
    axis.set(title=title, xlabel="step", yscale="log")
    axis.spines[["top", "right"]].set_visible(False)
axes[1].axhline(MAX_NORM, color="#c0362c", linewidth=1, linestyle="--", label="clipped above")
axes[1].legend(frameon=False)
print(f"{np.mean(np.array(norms) > MAX_NORM):.0%} of the steps were clipped.")

# %% [markdown]
# ## Is the input fast enough?
#
# The same pipeline without a model says how many images a second it could deliver. If that is close
# to the speed of the training, the model waits for its input, and a faster GPU would not help:
# [here is what to do](../../templates/data/storage.ipynb).

# %%
input_rates = []
for _ in range(2):
    began = time.perf_counter()
    n_images = sum(len(labels) for _, labels in batches)
    input_rates.append(n_images / (time.perf_counter() - began))
input_rate, training_rate = max(input_rates), max(rates)
is_fed = input_rate > 1.5 * training_rate
limit = "the model is the limit, as it should be" if is_fed else "the model waits for its input"
print(f"Input alone: {input_rate:,.0f} images/s. Training: {training_rate:,.0f} images/s.")
print(f"The input is {input_rate / training_rate:.1f} times as fast as the training: {limit}.")
