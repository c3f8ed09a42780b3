# ---
# jupyter:
#   kernelspec:
#     display_name: TensorFlow
#     language: python
#     name: tensorflow
#   portal:
#     packages: [keras>=3, matplotlib, numpy, tensorflow]
# ---
# ruff: noqa: D100, N999

# %% [markdown]
# # Start here
#
# Five minutes: what your session has, a first training, its curves in TensorBoard, and what to do
# next. Choose *Run*, *Restart Kernel and Run All Cells*, then read from top to bottom.
#
# | | |
# |---|---|
# | **Data** | 10,000 digits of MNIST: 7,000 to train, 1,000 to validate, 2,000 to test |
# | **Time** | 20 seconds on 2 cores, and five minutes to read |
# | **Devices** | one GPU of the session; its cores if the GPUs are simulated |

# %%
import sys
from datetime import datetime
from pathlib import Path

import keras
import numpy as np
from keras import layers

sys.path += [str(Path("shared").resolve()), str(Path.home() / "templates/shared")]
from lesson import digits_path, draw_curves, draw_predictions
from my_session import print_session, print_storage

from dsportal import tensorboard

# %% [markdown]
# ## What you have
#
# A session is a job on one node of the cluster. The GPUs, cores and memory below are yours until
# the time is over; then memory is lost, and files stay.

# %%
print_session()

# %% [markdown]
# And these are the places for your files:

# %%
print_storage()

# %% [markdown]
# The status bar at the bottom shows time, GPUs and memory while you work. Before the time runs out,
# a message offers to extend the session. Stop it when you are done, so that others get the GPUs:
# *Control Panel* at the top right, *Stop My Server*.
#
# ## A first training
#
# A small network learns to read handwritten digits. The callback `TensorBoard` writes logs while
# it trains.

# %%
with np.load(digits_path()) as file:
    images, labels = file["x"], file["y"]
order = np.random.default_rng(1).permutation(len(images))
images = images[order, :, :, np.newaxis].astype("float32") / 255
labels = labels[order].astype("int32")
train_images, validation_images, test_images = np.split(images, [7_000, 8_000])
train_labels, validation_labels, test_labels = np.split(labels, [7_000, 8_000])

keras.utils.set_random_seed(1)
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
    optimizer="adam",
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy"],
    jit_compile=False,  # compiling with XLA pays for large models, not for a minute's training
)
history = model.fit(
    train_images,
    train_labels,
    batch_size=64,
    epochs=3,
    validation_data=(validation_images, validation_labels),
    callbacks=[keras.callbacks.TensorBoard(f"logs/{datetime.now():%Y-%m-%d_%H.%M.%S}")],
    verbose=2,
)
draw_curves(
    {"training": history.history["accuracy"], "validation": history.history["val_accuracy"]}
)

# %% [markdown]
# What the network says about ten test digits, which it has never seen: the longer the bar, the more
# confident. On the left are the five that it is most confident about, on the right the five that it
# is least confident about.

# %% tags=["gallery"]
probabilities = model.predict(test_images, verbose=0)
print(f"Test accuracy: {(probabilities.argmax(axis=1) == test_labels).mean():.4f}")
by_confidence = probabilities.max(axis=1).argsort()
chosen = [*by_confidence[-5:], *by_confidence[:5]]
draw_predictions(test_images[chosen], test_labels[chosen], probabilities[chosen])

# %% [markdown]
# ## Its curves in TensorBoard
#
# The link opens TensorBoard in its own tab, behind your login. You can also watch a training while
# it runs. Without a cell: select a folder of logs in the file browser and press the TensorBoard
# button.

# %% tags=["raises-exception"]
tensorboard("logs")

# %% [markdown]
# ## Keep it
#
# `model.save` writes layers and weights to one file. Files in your home and on the shared storage
# stay after the session; JupyterLab saves this notebook by itself.

# %%
model.save("first.keras")

# %% [markdown]
# ## What next
#
# | You want to | open |
# |---|---|
# | use your own table and packages | [your own CSV](../templates/data/your_own.ipynb) |
# | choose and tune a model for a table | [scikit-learn](../templates/data/tabular.ipynb) |
# | use your own images | [a folder of images](../templates/pytorch/images.ipynb) |
# | adapt a language model | [a transformer, LoRA](../templates/pytorch/transformer.ipynb) |
# | train well with Keras | [digits with Keras](../templates/tensorflow/digits.ipynb) |
# | train well with PyTorch | [digits with PyTorch](../templates/pytorch/digits.ipynb) |
# | write the loop yourself | [a loop of your own](../templates/tensorflow/custom_loop.ipynb) |
# | train faster with 16 bits | [mixed precision](../templates/tensorflow/mixed_precision.ipynb) |
# | continue after the time limit | [checkpoint and resume](../templates/tensorflow/resume.ipynb) |
# | know why a step is slow, and mend it | [profile a step](../templates/pytorch/profile.ipynb) |
# | use all GPUs with PyTorch | [all GPUs, and over nodes](../templates/pytorch/distributed.ipynb) |
# | train a model that one GPU cannot hold | [FSDP](../templates/pytorch/fsdp.ipynb) |
# | find good hyper-parameters | [many trainings at a time](../templates/pytorch/search.ipynb) |
# | use all GPUs with Keras | [Horovod](../templates/horovod/digits.ipynb) |
# | convert a notebook of your own | [step by step](../templates/horovod/convert.ipynb) |
# | use several nodes | [several nodes](../templates/horovod/several_nodes.ipynb) |
# | use Keras on TensorFlow and PyTorch | [one model on both](../templates/keras/backends.ipynb) |
# | feed it faster from storage | [JPEG files and shards](../templates/data/storage.ipynb) |
# | serve a trained model faster | [INT8](../templates/inference/int8.ipynb) |
# | know how many GPUs are worth using | [a scaling study](../templates/scaling/study.ipynb) |
# | submit a job script | [sample.job](../templates/slurm/sample.job) |
#
# **A package that this kernel lacks** you install in a cell, such as `%pip install einops`; it
# stays installed. **A training of days** runs as a job of its own, which continues without the
# browser: `run(train, gpus=8, nodes=2, wait=False)`. **Your jobs** are under *Jobs and Runs* in the
# launcher.
#
# Your changes to a template are kept: a new release never overwrites them. The launcher shows all
# templates, and [the list](../templates/README.md) says how long each one takes.
