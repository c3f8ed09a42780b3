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
# # Mixed precision: FP16 and BF16 compared with FP32
#
# On GPUs with Tensor Cores, numbers of 16 bits train a network faster and leave room for batches
# twice as large. One line of Keras switches it on. This notebook trains the same network with each
# format that your device computes in, and puts speed and accuracy side by side.
#
# | | |
# |---|---|
# | **Data** | 10,000 digits of MNIST: 7,000 to train, on cores 1,500; 2,000 to test |
# | **Time** | 20 seconds on 2 cores, seconds on a GPU |
# | **Devices** | one GPU of the session; its cores if the GPUs are simulated |

# %%
import sys
import time
from pathlib import Path

import keras
import matplotlib.pyplot as plt
import numpy as np
import tensorflow as tf
from keras import layers

sys.path += [str(Path("../shared").resolve()), str(Path.home() / "templates/shared")]
from lesson import digits_path

# %% [markdown]
# ## Three formats
#
# | | bits | largest | smallest above 0 | digits | needs |
# |---|---|---|---|---|---|
# | **FP32** | 32 | 3e38 | 1e-45 | 7 | nothing |
# | **BF16** | 16 | 3e38 | 9e-41 | 2 to 3 | A100, H100 or newer; some CPUs |
# | **FP16** | 16 | 65,504 | 6e-8 | 3 to 4 | V100 or newer, and a scaled loss |
#
# "Mixed" means: the network computes in 16 bits, its weights are stored and updated in 32.
#
# Cores without instructions for BF16 convert each number, and are slower with it. In FP16
# TensorFlow is very slow on cores, even on those that have instructions for it, so that FP16 is
# tried on GPUs only.

# %%
HAS_GPU = bool(tf.config.list_physical_devices("GPU"))
flags = Path("/proc/cpuinfo").read_text()
has_bf16 = HAS_GPU or "avx512_bf16" in flags or "amx_bf16" in flags

POLICIES = {"FP32": "float32", "BF16": "mixed_bfloat16"}
if HAS_GPU:
    POLICIES["FP16"] = "mixed_float16"
    print("Trains on a GPU.")
else:
    print(f"Trains on the cores, which have {'' if has_bf16 else 'no '}instructions for BF16.")

# %%
N_IMAGES = 7_000 if HAS_GPU else 1_500
EPOCHS = 5
BATCH_SIZE = 64

with np.load(digits_path()) as file:
    images, labels = file["x"], file["y"]
order = np.random.default_rng(1).permutation(len(images))
images = images[order, :, :, np.newaxis].astype("float32") / 255
labels = labels[order].astype("int32")
train_images, train_labels = images[:N_IMAGES], labels[:N_IMAGES]
test_images, test_labels = images[8_000:], labels[8_000:]


def train(policy, max_seconds=30):
    keras.utils.set_random_seed(1)
    keras.config.set_dtype_policy(policy)
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
            layers.Dense(10, activation="softmax", dtype="float32"),  # the last layer stays in FP32
        ]
    )
    model.compile(
        optimizer=keras.optimizers.Adam(2e-3),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
        jit_compile=False,  # compiling with XLA would be part of the time that is compared
    )
    seconds = []
    while len(seconds) < EPOCHS and sum(seconds) < max_seconds:
        began = time.perf_counter()
        model.fit(train_images, train_labels, batch_size=BATCH_SIZE, verbose=0)
        seconds.append(time.perf_counter() - began)
    return {
        "model": model,
        "epochs": len(seconds),
        "images/s": N_IMAGES / min(seconds),  # the first epoch includes compiling
        "accuracy": model.evaluate(test_images, test_labels, verbose=0)[1],
    }


# %% [markdown]
# ## Training
#
# Same seed, same images, same order; only the format differs. Keras scales the loss for FP16
# automatically: `compile` wraps the optimizer in a `LossScaleOptimizer`. In your own loop, scale it
# yourself: `optimizer.scale_loss(loss)` before the gradients are computed.

# %%
runs = {}
for name, policy in POLICIES.items():
    runs[name] = train(policy)
    print(
        f"{name}  {runs[name]['images/s']:>7,.0f} images/s, "
        f"{runs[name]['images/s'] / runs['FP32']['images/s']:.2f} times FP32, "
        f"accuracy {runs[name]['accuracy']:.4f} after {runs[name]['epochs']} epochs",
        flush=True,
    )
keras.config.set_dtype_policy("float32")

# %% tags=["gallery"]
_, axes = plt.subplots(1, 2, figsize=(9, 2.4), layout="constrained")
for axis, key, form in ((axes[0], "images/s", "{:,.0f}"), (axes[1], "accuracy", "{:.1%}")):
    values = [run[key] for run in runs.values()]
    bars = axis.barh(list(runs), values, color=["#9aa5b1", "#0b6bcb", "#e07b00"][: len(runs)])
    axis.bar_label(bars, [form.format(value) for value in values], padding=4)
    axis.invert_yaxis()
    axis.set(title=key, xticks=[], xlim=(0, 1.2 * max(values)))
    axis.spines[["top", "right", "bottom"]].set_visible(False)

# %% [markdown]
# Are the accuracies really different? Other 2,000 test digits would move each of them by chance:

# %%
accuracies = [run["accuracy"] for run in runs.values()]
fp32 = runs["FP32"]["accuracy"]
by_chance = (fp32 * (1 - fp32) / len(test_labels)) ** 0.5
print(f"They are {100 * (max(accuracies) - min(accuracies)):.1f} points apart; chance alone moves")
print(f"each by about {100 * by_chance:.1f} points.")
print(f"Test accuracy: {min(accuracies):.4f}")

# %% [markdown]
# ## Why FP16 needs a scaled loss
#
# Many gradients are tiny. Values below 6e-8 become 0 in FP16 and nothing is learned from them.
# Since gradients grow with the loss, the loss is multiplied by a large number before they are
# computed, and they are divided by it, in FP32, before the weights are updated. BF16 has nearly the
# range of FP32 and needs none of this. Here are the gradients of one batch:

# %%
SCALE = 2.0**15
SMALLEST, LARGEST = 2.0**-24, 65_504.0  # of FP16

model = runs["FP32"]["model"]
with tf.GradientTape() as tape:
    predicted = model(train_images[:64], training=True)
    loss = keras.losses.SparseCategoricalCrossentropy()(train_labels[:64], predicted)
gradients = tape.gradient(loss, [variable.value for variable in model.trainable_variables])
sizes = np.abs(np.concatenate([gradient.numpy().ravel() for gradient in gradients]))
sizes = sizes[sizes > 0]

_, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
bins = np.arange(-40, 23)
axis.hist(np.log2(sizes), bins=bins, color="#c0362c", alpha=0.55, label="gradients")
scaled = f"of the loss times {SCALE:,.0f}"
axis.hist(np.log2(sizes * SCALE), bins=bins, color="#0b6bcb", alpha=0.55, label=scaled)
axis.axvspan(bins[0], np.log2(SMALLEST), color="#9aa5b1", alpha=0.3, label="0 or too large in FP16")
axis.axvspan(np.log2(LARGEST), bins[-1], color="#9aa5b1", alpha=0.3)
axis.set(xlabel="size, powers of 2", yscale="log", xlim=(bins[0], bins[-1]))
axis.legend(frameon=False, fontsize=9)

lost, still_lost = (sizes < SMALLEST / 2).mean(), (sizes * SCALE < SMALLEST / 2).mean()
print(f"{lost:.1%} of the gradients are lost in FP16; with the scaled loss {still_lost:.2%}.")

# %% [markdown]
# ## In your own model
#
# 1. `keras.config.set_dtype_policy("mixed_float16")`, or `"mixed_bfloat16"`, before the model is
#    created.
# 2. Give the last layer `dtype="float32"`: probabilities and losses need full precision.
# 3. Double the batch size, since the numbers take half the memory. Sizes that are multiples of 8
#    suit the Tensor Cores: batches, channels, units.
# 4. Compare the accuracy with FP32 once, as above.
