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
# | **Data** | 10,000 real digits of MNIST in `isilon`: 8,000 for training, 2,000 for testing |
# | **Time** | half a minute on 2 cores, seconds on a GPU |
# | **Devices** | one GPU of the session; its cores if the GPUs are simulated |

# %%
import sys
import time
from datetime import datetime
from pathlib import Path

sys.path.append("../shared")

import keras
import tensorflow as tf
from charts import draw_bars, draw_noisy, panels
from digits_data import load_digits
from digits_model import accuracy, describe_devices, make_model
from digits_pictures import draw_digits

print(describe_devices())

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
digits = load_digits()
batches = make_batches(digits.train_images, digits.train_labels)
images, labels = next(iter(batches))
draw_digits(images.numpy(), labels.numpy())

# %% [markdown]
# ## One step
#
# `tf.function` compiles the step; without it, Python would run between any two operations. The tape
# records what the model does, so that the gradients can be computed. They are clipped to a norm of
# 2: one strange batch cannot throw the weights far.

# %%
EPOCHS = 4
LONGEST = 2.0

model = make_model(moves_images=False)
n_steps = EPOCHS * len(batches)
optimizer = keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(2e-3, n_steps))
optimizer.build(model.trainable_variables)
loss_of = keras.losses.SparseCategoricalCrossentropy()


@tf.function
def train_step(images, labels):
    with tf.GradientTape() as tape:
        loss = loss_of(labels, model(images, training=True))
    gradients = tape.gradient(loss, [v.value for v in model.trainable_variables])
    gradients, length = tf.clip_by_global_norm(gradients, LONGEST)
    optimizer.apply(gradients, model.trainable_variables)
    return loss, length


# %% [markdown]
# ## The loop
#
# Results stay on the device until they are read: `float(loss)` waits for the step, so the loop does
# it once an epoch and not once a step. The logs are for TensorBoard.

# %%
log_dir = Path("logs") / f"loop_{datetime.now():%Y-%m-%d_%H.%M.%S}"
log = tf.summary.create_file_writer(str(log_dir))
losses, lengths, rates, test_accuracies = [], [], [], []
for epoch in range(EPOCHS):
    began = time.perf_counter()
    in_epoch = [train_step(images, labels) for images, labels in batches]
    losses += [float(loss) for loss, _ in in_epoch]
    lengths += [float(length) for _, length in in_epoch]
    rates.append(len(in_epoch) * BATCH_SIZE / (time.perf_counter() - began))
    test_accuracies.append(accuracy(model, digits.test_images, digits.test_labels))
    with log.as_default(step=len(losses)):
        tf.summary.scalar("loss", sum(losses[-len(in_epoch) :]) / len(in_epoch))
        tf.summary.scalar("test accuracy", test_accuracies[-1])
    print(
        f"Epoch {epoch + 1}  loss {losses[-1]:.3f}  test accuracy {test_accuracies[-1]:.4f}  "
        f"{rates[-1]:,.0f} images/s",
        flush=True,
    )

# %% tags=["gallery"]
left, right = panels(2)
draw_noisy(left, losses, title="Loss of each step")
draw_noisy(right, lengths, title="Length of its gradient")
right.axhline(LONGEST, color="#c0362c", linewidth=1, linestyle="--")
right.annotate("clipped above", (0, LONGEST), xytext=(0, 4), textcoords="offset points")
print(
    f"{sum(length > LONGEST for length in lengths) / len(lengths):.0%} of the steps were clipped."
)

# %% [markdown]
# ## Is the input fast enough?
#
# The same pipeline without a model says how many images a second it could deliver. If that is close
# to the speed of the training, the model waits for its input, and a faster GPU would not help: see
# `templates/data` for what to do.

# %%
input_rates = []
for _ in range(2):
    began = time.perf_counter()
    n_images = sum(len(labels) for _, labels in batches)
    input_rates.append(n_images / (time.perf_counter() - began))
input_rate, training_rate = max(input_rates), max(rates)
draw_bars(
    panels(1, height=1.6)[0],
    {"input alone": input_rate, "training": training_rate},
    xlabel="images/s",
)
is_fed = input_rate > 1.5 * training_rate
limit = "the model is the limit, as it should be" if is_fed else "the model waits for its input"
print(f"The input is {input_rate / training_rate:.1f} times as fast as the training: {limit}.")

print(f"Figure: accuracy = {test_accuracies[-1]:.4f}")
