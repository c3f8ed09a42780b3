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
# twice as large. One line of Keras switches it on. This notebook trains the same network with all
# three formats and puts speed and accuracy side by side, on the device that you have.
#
# | | |
# |---|---|
# | **Data** | 10,000 real digits of MNIST in `isilon`; 1,500 train on cores, 8,000 on a GPU |
# | **Time** | about one minute on 2 cores, seconds on a GPU |
# | **Devices** | one GPU of the session; its cores if the GPUs are simulated |

# %%
import sys
import time

sys.path.append("../shared")

import keras
import tensorflow as tf
from charts import draw_bars, panels
from digits_data import load_digits
from digits_model import accuracy, describe_devices, make_model
from gradients import SMALLEST_FP16, draw_gradient_sizes, gradient_sizes
from quiet import quiet_libraries

print(describe_devices())

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

# %%
POLICIES = {"FP32": "float32", "BF16": "mixed_bfloat16", "FP16": "mixed_float16"}
HAS_GPU = bool(tf.config.list_physical_devices("GPU"))
N_IMAGES = 8_000 if HAS_GPU else 1_500
EPOCHS = 4
BATCH_SIZE = 64
# Cores without a unit for a format convert each number, which may take a hundred times as long.
LONGEST_S = 45

digits = load_digits()
images, labels = digits.train_images[:N_IMAGES], digits.train_labels[:N_IMAGES]


def train(policy):
    keras.utils.set_random_seed(1)
    keras.config.set_dtype_policy(policy)
    model = make_model(moves_images=False)
    model.compile(
        optimizer=keras.optimizers.Adam(1e-3),
        loss="sparse_categorical_crossentropy",
        jit_compile=False,
    )
    seconds = []
    for _ in range(EPOCHS):
        began = time.perf_counter()
        # On cores without FP16, oneDNN notes that it leaves the work to other code.
        with quiet_libraries():
            model.fit(images, labels, batch_size=BATCH_SIZE, verbose=0)
        seconds.append(time.perf_counter() - began)
        if sum(seconds) > LONGEST_S:
            break
    return {
        "model": model,
        "epochs": len(seconds),
        # The first epoch includes compiling.
        "images/s": N_IMAGES / min(seconds),
        "accuracy": accuracy(model, digits.test_images, digits.test_labels),
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
    n_epochs = runs[name]["epochs"]
    cut = "" if n_epochs == EPOCHS else f" after {n_epochs} of {EPOCHS} epochs"
    print(
        f"{name}  {runs[name]['images/s']:>7,.0f} images/s, "
        f"{runs[name]['images/s'] / runs['FP32']['images/s']:.2f} times FP32, "
        f"test accuracy {runs[name]['accuracy']:.4f}{cut}",
        flush=True,
    )
keras.config.set_dtype_policy("float32")

# %% tags=["gallery"]
left, right = panels(2, height=2)
draw_bars(left, {name: run["images/s"] for name, run in runs.items()}, xlabel="images/s")
accuracies = {name: run["accuracy"] for name, run in runs.items()}
draw_bars(right, accuracies, xlabel="test accuracy", form="{:.1%}")

# %%
whole = [run["accuracy"] for run in runs.values() if run["epochs"] == EPOCHS]
apart = max(whole) - min(whole)
fp32 = accuracies["FP32"]
by_chance = (fp32 * (1 - fp32) / len(digits.test_labels)) ** 0.5
print(
    f"The accuracies are {100 * apart:.1f} points apart. Other test digits would move each of them "
    f"by {100 * by_chance:.1f} points or so."
)
if not HAS_GPU:
    print(
        "Some cores compute in BF16 or FP16 themselves. Others convert each number, and the short "
        "format is slow. The gain is on GPUs: published V100 runs of ResNet50 are 65 to 91 % "
        "faster in FP16 than in FP32."
    )

# %% [markdown]
# ## Why FP16 needs a scaled loss
#
# Many gradients are tiny. Values below 6e-8 become 0 in FP16 and nothing is learned from them.
# Since gradients grow with the loss, the loss is multiplied by a large number before they are
# computed, and they are divided by it, in FP32, before the weights are updated. BF16 has nearly the
# range of FP32 and needs none of this.

# %%
SCALE = 2.0**15

sizes = gradient_sizes(runs["FP32"]["model"], digits)
draw_gradient_sizes(sizes, SCALE)
lost = (sizes < SMALLEST_FP16 / 2).mean()
lost_scaled = (sizes * SCALE < SMALLEST_FP16 / 2).mean()
print(f"{lost:.1%} of the gradients are lost in FP16; with the scaled loss {lost_scaled:.2%}.")

# %% [markdown]
# ## In your own model
#
# 1. `keras.config.set_dtype_policy("mixed_float16")`, or `"mixed_bfloat16"`, before the model is
#    created.
# 2. Give the last layer `dtype="float32"`: probabilities and losses need full precision.
# 3. Double the batch size, since the numbers take half the memory. Sizes that are multiples of 8
#    suit the Tensor Cores: batches, channels, units.
# 4. Compare the accuracy with FP32 once, as above.

# %%
print(f"Figure: accuracy = {min(whole):.4f}")
