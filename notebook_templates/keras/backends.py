# ---
# jupyter:
#   kernelspec:
#     display_name: TensorFlow
#     language: python
#     name: tensorflow
#   portal:
#     packages: [keras>=3, matplotlib, numpy, tensorflow]
# ---
# ruff: noqa: D100

# %% [markdown]
# # One Keras model on TensorFlow and PyTorch
#
# Keras 3 computes with TensorFlow, PyTorch or JAX. The same file trains on each of them, and a
# model that one has saved is read by the others. So you can train with the faster one and give the
# result to people who use another.
#
# | | |
# |---|---|
# | **Data** | 10,000 digits of MNIST: 3,000 to train, 1,000 to validate, 2,000 to test |
# | **Time** | half a minute on 2 cores |
# | **Devices** | one GPU of the session; its cores if the GPUs are simulated |

# %%
import sys
from pathlib import Path

import numpy as np
from IPython.display import Code

sys.path += [str(Path("../shared").resolve()), str(Path.home() / "templates/shared")]
import charts
from backends import find_backends, run_with
from charts import draw_bars, draw_lines, panels

PROGRAM = str(Path(charts.__file__).with_name("keras_digits.py"))

# %% [markdown]
# ## What there is
#
# Each backend is in the environment of its kernel, so that their libraries do not conflict.

# %%
backends = find_backends()
for name, python in backends.items():
    print(f"{name:12} in {python}")
if len(backends) == 1:
    print("Only one here; add keras to the environment of another kernel to compare them.")

# %% [markdown]
# ## The model
#
# It imports `keras`, and neither TensorFlow nor PyTorch. For what Keras has no layer for, use
# `keras.ops`, which has NumPy's names and works on every backend.

# %%
Code(filename=PROGRAM, language="python")

# %% [markdown]
# ## Training
#
# `KERAS_BACKEND` says what Keras computes with. It is read when Keras is imported, so set it first:
#
#     import os
#     os.environ["KERAS_BACKEND"] = "torch"
#     import keras
#
# In this portal's kernel "PyTorch" it is set. Here, each backend trains in its own process.

# %%
EPOCHS = 3
runs = {}
for name, python in backends.items():
    argv = (PROGRAM, "train", f"{name}.keras", str(EPOCHS))
    runs[name] = run_with(name, python, *argv)
    print(
        f"{name:12} {runs[name]['images/s']:6,.0f} images/s, "
        f"validation accuracy {runs[name]['accuracies'][-1]:.4f}",
        flush=True,
    )

# %% tags=["gallery"]
left, right = panels(2, height=2.8)
draw_bars(left, {name: run["images/s"] for name, run in runs.items()}, xlabel="images/s")
epochs = range(1, EPOCHS + 1)
curves = {name: (epochs, run["accuracies"]) for name, run in runs.items()}
right.set_xticks(epochs)
draw_lines(right, curves, xlabel="epoch", ylabel="validation accuracy")

# %% [markdown]
# The initial weights differ: each backend draws its own random numbers from the same seed, so the
# curves differ a little.
#
# **Which one is faster** depends on model, device and threads: measure your own model before you
# choose. On a GPU that computes a large model the difference is small. On cores, mind the threads:
# on a busy machine of two cores, PyTorch trained this small network several times faster with one
# thread than with two, which waited for each other; so it gets one here, by `OMP_NUM_THREADS=1`.
#
# ## Saved with one, read with the other
#
# A `.keras` file holds the layers by name and the weights as numbers, and nothing that is specific
# to a backend. The probabilities differ only by rounding.

# %%
trained_with = next(iter(backends))
probabilities = {}
for name, python in backends.items():
    target = f"{name}.npy"
    argv = (PROGRAM, "read", f"{trained_with}.keras", target)
    read = run_with(name, python, *argv)
    probabilities[name] = np.load(target)
    print(f"read with {name:12} accuracy {read['accuracy']:.4f}")
difference = max(
    float(np.abs(values - probabilities[trained_with]).max()) for values in probabilities.values()
)
print(f"Largest difference of a probability: {difference:.1e}")
print(f"Test accuracy: {read['accuracy']:.4f}")

# %% [markdown]
# ## What is not portable
#
# `tf.data` pipelines, `tf.function`, PyTorch modules inside a layer and `Lambda` layers are tied to
# one backend. Keep them out of the model's file. `model.fit` takes NumPy arrays, `tf.data` and
# PyTorch's `DataLoader` on every backend.
