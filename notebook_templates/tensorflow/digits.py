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
# writes logs for TensorBoard.
#
# | | |
# |---|---|
# | **Data** | 10,000 real digits of MNIST in `isilon`: 8,000 for training, 2,000 for testing |
# | **Time** | about one minute on 2 cores, seconds on a GPU |
# | **Devices** | one GPU of the session; its cores if the GPUs are simulated |
#
# Choose *Run*, *Restart Kernel and Run All Cells*. To train on all GPUs of the session, see
# `templates/horovod/digits.ipynb`.

# %%
import sys
from datetime import datetime
from pathlib import Path

sys.path.append("../shared")

from digits_data import load_digits
from digits_model import AccuracyReport, describe_devices, make_model, read_digits
from digits_pictures import draw_confusion, draw_curves, draw_digits, draw_misread
from keras.callbacks import TensorBoard
from keras.models import load_model
from keras.optimizers import Adam
from keras.optimizers.schedules import CosineDecay
from keras.utils import set_random_seed

print(describe_devices())

# %% [markdown]
# ## The data
#
# Images of 28 x 28 grey values, from 0 (paper) to 1 (ink). The test images are not used for
# training.

# %%
digits = load_digits()
print(f"{len(digits.train_images):,} digits for training, {len(digits.test_images):,} for testing")
draw_digits(digits.train_images, digits.train_labels)
# %% [markdown]
# ## The network
#
# Two convolutions and a dense layer, in `templates/shared/digits_model.py`. While it trains, each
# image is shifted and rotated a little, so that the network sees more handwritings than there are.
# The learning rate falls to zero along a cosine.

# %%
EPOCHS = 10
BATCH_SIZE = 64

set_random_seed(1)
model = make_model()
n_steps = EPOCHS * len(digits.train_images) // BATCH_SIZE
model.compile(
    optimizer=Adam(CosineDecay(2e-3, n_steps)),
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy"],
    jit_compile=False,
)
model.summary()

# %% [markdown]
# ## Training
#
# Every 100 steps: the share of digits that are read correctly, among 2,000 training images and the
# 2,000 test images. Each run has its own folder below `logs`. Select `logs` in the file browser and
# press the TensorBoard button to watch the training while it runs.

# %%
log_dir = Path("logs") / f"{datetime.now():%Y-%m-%d_%H.%M.%S}"
report = AccuracyReport(digits)
history = model.fit(
    digits.train_images,
    digits.train_labels,
    batch_size=BATCH_SIZE,
    epochs=EPOCHS,
    validation_data=(digits.test_images, digits.test_labels),
    callbacks=[report, TensorBoard(log_dir, histogram_freq=1)],
    verbose=0,
)
# %% [markdown]
# ## How well it reads

# %%
draw_curves(report.steps, report.training, report.test)
# %% [markdown]
# The test digits that were read wrongly, the most confident mistakes first: some are hard for
# people too.

# %% tags=["gallery"]
probabilities = read_digits(model, digits.test_images)
draw_misread(digits.test_images, digits.test_labels, probabilities)

# %% [markdown]
# Which digits are mistaken for which: each row is a digit, each column what it was read as.

# %%
draw_confusion(digits.test_labels, probabilities)

# %% [markdown]
# ## Save it
#
# One file holds layers, weights and optimizer. `keras.models.load_model` reads it in another
# notebook, on cores as well as on a GPU, and on PyTorch too: `templates/keras/backends.ipynb`.

# %%
model.save("digits.keras")
again = load_model("digits.keras")
print(f"Saved as digits.keras, {Path('digits.keras').stat().st_size / 2**20:.1f} MiB.")
same = (read_digits(again, digits.test_images) == probabilities).all()
print("It reads as before." if same else "It reads differently.")
print(f"Figure: accuracy = {report.test[-1]:.4f}")

# %% [markdown]
# **Next:** `templates/tensorflow/resume.ipynb` for trainings that take longer than a session,
# `mixed_precision.ipynb` for speed, `templates/horovod/digits.ipynb` for all GPUs.
