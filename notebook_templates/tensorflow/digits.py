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
# # Handwritten digits with Keras
#
# Trains a small convolutional network to read handwritten digits, shows how well it reads, and
# writes logs for TensorBoard. Start from it with your own images: data, model and training are all
# in this notebook.
#
# | | |
# |---|---|
# | **Data** | 10,000 digits of MNIST: 7,000 to train, 1,000 to validate, 2,000 to test |
# | **Time** | about one minute on 2 cores, seconds on a GPU |
# | **Devices** | one GPU of the session; its cores if the GPUs are simulated |
#
# Choose *Run*, *Restart Kernel and Run All Cells*.

# %%
import sys
from datetime import datetime
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from keras import layers

sys.path += [str(Path("../shared").resolve()), str(Path.home() / "templates/shared")]
from lesson import digits_path, draw_confusion, draw_curves, draw_digits, draw_mistakes

print(f"TensorFlow {tf.__version__}, Keras {keras.__version__}")
print(tf.config.list_physical_devices("GPU") or "No GPU here: trains on the cores.")

# %% [markdown]
# ## The data
#
# Images of 28 x 28 grey values, from 0 (paper) to 1 (ink), in three parts. The network learns from
# the training images. The validation images say how well it is doing while you choose rate, layers
# and epochs. The test images are used once, at the end: a figure that you have watched while you
# were choosing is too good.

# %%
with np.load(digits_path()) as file:
    images, labels = file["x"], file["y"]
order = np.random.default_rng(1).permutation(len(images))
images = images[order, :, :, np.newaxis].astype("float32") / 255
labels = labels[order].astype("int32")

train_images, validation_images, test_images = np.split(images, [7_000, 8_000])
train_labels, validation_labels, test_labels = np.split(labels, [7_000, 8_000])
draw_digits(train_images, train_labels)

# %% [markdown]
# ## The network
#
# While it trains, each image is shifted by up to 2 pixels and rotated by up to 11 degrees, each
# time differently: this *augmentation* keeps it from learning the training images by heart. The
# learning rate falls to zero along a cosine.

# %%
EPOCHS = 10
BATCH_SIZE = 64

keras.utils.set_random_seed(1)
model = keras.Sequential(
    [
        keras.Input((28, 28, 1)),
        layers.RandomTranslation(0.07, 0.07, fill_mode="constant"),
        layers.RandomRotation(0.03, fill_mode="constant"),
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
n_steps = EPOCHS * len(train_images) // BATCH_SIZE
model.compile(
    optimizer=keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(2e-3, n_steps)),
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy"],
    jit_compile=False,  # compiling with XLA pays for large models, not for a minute's training
)
model.summary()

# %% [markdown]
# ## Training
#
# After each epoch Keras prints the accuracy on the training images, which is measured while they
# are moved and parts of the network are dropped, and on the validation images. Each run has its own
# folder below `logs`: select `logs` in the file browser and press the TensorBoard button to watch
# the training while it runs.

# %%
log_dir = Path("logs") / f"{datetime.now():%Y-%m-%d_%H.%M.%S}"
history = model.fit(
    train_images,
    train_labels,
    batch_size=BATCH_SIZE,
    epochs=EPOCHS,
    validation_data=(validation_images, validation_labels),
    callbacks=[keras.callbacks.TensorBoard(log_dir, histogram_freq=1)],
    verbose=2,
)

# %%
draw_curves(
    {"training": history.history["accuracy"], "validation": history.history["val_accuracy"]}
)

# %% [markdown]
# ## How well it reads
#
# Now, once, the test images.

# %%
_, test_accuracy = model.evaluate(test_images, test_labels, verbose=0)
print(f"Test accuracy: {test_accuracy:.4f}")

# %% [markdown]
# The test digits that were misread, the most confident mistakes first: some are hard for people
# too.

# %% tags=["gallery"]
probabilities = model.predict(test_images, verbose=0)
draw_mistakes(test_images, test_labels, probabilities)

# %% [markdown]
# Which digits are mistaken for which: each row is a digit, each column what it was read as.

# %%
draw_confusion(test_labels, probabilities)

# %% [markdown]
# ## Save it
#
# One file holds layers, weights and optimizer. `keras.models.load_model` reads it in another
# notebook, on cores as well as on a GPU, and
# [on PyTorch too](../../templates/keras/backends.ipynb).

# %%
model.save("digits.keras")
again = keras.models.load_model("digits.keras")
is_same = np.array_equal(again.predict(test_images, verbose=0), probabilities)
print(f"Saved as digits.keras, {Path('digits.keras').stat().st_size / 2**20:.1f} MiB.")
print("Loaded again, it predicts the same." if is_same else "Loaded again, it predicts otherwise!")

# %% [markdown]
# **Next:** [continue after the time limit](../../templates/tensorflow/resume.ipynb),
# [train faster with 16 bits](../../templates/tensorflow/mixed_precision.ipynb),
# [use all GPUs of the session](../../templates/horovod/digits.ipynb).
