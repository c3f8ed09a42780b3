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
# | **Data** | 10,000 real digits of MNIST in `isilon`: 8,000 for training, 2,000 for testing |
# | **Time** | half a minute on 2 cores, and five to read |
# | **Devices** | one GPU of the session; its cores if the GPUs are simulated |

# %%
import sys
from datetime import datetime
from pathlib import Path

sys.path.append("shared")

import keras
from digits_data import load_digits
from digits_model import AccuracyReport, describe_devices, make_model, read_digits
from digits_pictures import draw_curves, draw_reading
from my_session import draw_storage, print_session

from dsportal import TensorBoardError, tensorboard

# %% [markdown]
# ## What you have
#
# A session is a job on one node of the cluster. The GPUs, cores and memory below are yours until
# the time is over; then memory is lost, and files stay.

# %%
print_session()

# %%
draw_storage()

# %% [markdown]
# The status bar at the bottom shows time, GPUs and memory while you work. Stop the session when you
# are done: *File*, *Hub Control Panel*, *Stop My Server*.
#
# ## A first training
#
# A small network learns to read handwritten digits. `AccuracyReport` prints the progress, and the
# callback `TensorBoard` writes logs.

# %%
print(describe_devices())
digits = load_digits()
keras.utils.set_random_seed(1)
model = make_model(moves_images=False)
model.compile(
    optimizer=keras.optimizers.Adam(1e-3),
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy"],
    jit_compile=False,
)
log_dir = Path("logs") / f"{datetime.now():%Y-%m-%d_%H.%M.%S}"
report = AccuracyReport(digits, every_steps=50)
model.fit(
    digits.train_images,
    digits.train_labels,
    batch_size=64,
    epochs=2,
    validation_data=(digits.test_images, digits.test_labels),
    callbacks=[report, keras.callbacks.TensorBoard(log_dir)],
    verbose=0,
)
draw_curves(report.steps, report.training, report.test)

# %% [markdown]
# What the network says about ten digits that it has never seen: the longer the bar, the more
# confident. On the left are the five that it is most confident about, on the right the five that it
# is least confident about.

# %% tags=["gallery"]
probabilities = read_digits(model, digits.test_images)
by_certainty = probabilities.max(axis=1).argsort()
chosen = [*by_certainty[-5:], *by_certainty[:5]]
draw_reading(digits.test_images[chosen], digits.test_labels[chosen], probabilities[chosen])

# %% [markdown]
# ## Its curves in TensorBoard
#
# The link opens TensorBoard in its own tab, behind your login. You can also watch a training while
# it runs. Without a cell: select a folder of logs in the file browser and press the TensorBoard
# button.

# %%
try:
    tensorboard("logs")
except TensorBoardError as error:
    print(error)

# %% [markdown]
# ## What next
#
# | You want to | open |
# |---|---|
# | train well on one GPU | `tensorflow/digits.ipynb`, `pytorch/digits.ipynb` |
# | write the training loop yourself | `tensorflow/custom_loop.ipynb` |
# | train faster with 16 bits | `tensorflow/mixed_precision.ipynb` |
# | continue after the time limit | `tensorflow/resume.ipynb` |
# | use all GPUs of the session | `horovod/digits.ipynb` |
# | convert a notebook of your own | `horovod/convert.ipynb` |
# | use several nodes | `horovod/several_nodes.ipynb` |
# | use Keras on TensorFlow and PyTorch | `keras/backends.ipynb` |
# | feed it faster from storage | the folder `data` |
# | serve a trained model faster | the folder `inference` |
# | know how many GPUs are worth using | the folder `scaling` |
# | submit a job script | `slurm/sample.job` |
#
# A package that this kernel lacks you install in a cell, such as `%pip install einops`; it stays
# installed.
#
# All paths are below `templates`. Your changes are kept: a new release of a template never
# overwrites them. The launcher shows all of them by framework; `README.md` in this folder has the
# list.

# %%
print(f"Figure: accuracy = {report.test[-1]:.4f}")
