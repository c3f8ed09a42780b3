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
# # Handwritten digits with Horovod on all GPUs of the session
#
# Trains the network of `templates/tensorflow/digits.ipynb` with one process, a *rank*, on each GPU.
# The ranks train on different images and average their gradients after each step.
#
# | | |
# |---|---|
# | **Data** | 10,000 real digits of MNIST in `isilon`: 8,000 for training, 2,000 for testing |
# | **Time** | about one minute with 2 ranks on 2 cores |
# | **Devices** | all GPUs of the session; its cores if the GPUs are simulated |
#
# Choose *Run*, *Restart Kernel and Run All Cells*. A session with 2 GPUs trains with 2 ranks.

# %%
import sys
from datetime import datetime
from pathlib import Path

sys.path.append("../shared")

from digits_data import load_digits
from digits_pictures import draw_curves

from dsportal import run

digits = load_digits()
print(f"{len(digits.train_images):,} digits for training, {len(digits.test_images):,} for testing")

# %% [markdown]
# ## What each rank does
#
# The same as on one GPU, except for five lines:
#
# 1. `hvd.init()` lets the ranks find each other.
# 2. `digits.share(...)` gives each rank its own part of the training images.
# 3. `hvd.DistributedOptimizer` averages the gradients over all ranks at each step. Use the one from
#    `dsportal.horovod_keras`; Horovod's own does not average under Keras 3, and is refused.
# 4. `BroadcastGlobalVariablesCallback` gives all ranks the weights of rank 0 to start from.
# 5. Only rank 0 reports; the others would say the same.
#
# **The learning rate.** With N ranks a step sees N times as many images, so an epoch has N times
# fewer steps. Multiply the learning rate by N, and warm up to it over the first epochs, or the
# first large steps diverge (Goyal et al., 2017).

# %%
EPOCHS = 10
BATCH_SIZE_PER_RANK = 64
LEARNING_RATE_OF_ONE_RANK = 1e-3


def train(log_dir):
    from digits_model import AccuracyReport, accuracy, make_model, weights_checksum
    from keras.callbacks import TensorBoard
    from keras.optimizers import Adam
    from keras.utils import set_random_seed

    import dsportal.horovod_keras as hvd

    hvd.init()
    set_random_seed(1 + hvd.rank())
    mine = load_digits().share(hvd.rank(), hvd.size())
    learning_rate = LEARNING_RATE_OF_ONE_RANK * hvd.size()
    model = make_model()
    model.compile(
        optimizer=hvd.DistributedOptimizer(Adam(learning_rate)),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
        jit_compile=False,
    )
    report = AccuracyReport(mine, every_steps=50)
    callbacks = [
        hvd.callbacks.BroadcastGlobalVariablesCallback(0),
        hvd.callbacks.LearningRateWarmupCallback(learning_rate, warmup_epochs=2),
    ]
    if hvd.rank() == 0:
        callbacks += [report, TensorBoard(log_dir)]
    model.fit(
        mine.train_images,
        mine.train_labels,
        batch_size=BATCH_SIZE_PER_RANK,
        epochs=EPOCHS,
        callbacks=callbacks,
        verbose=0,
    )
    return {
        "rank": hvd.rank(),
        "images": len(mine.train_images),
        "weights": weights_checksum(model),
        "accuracy": accuracy(model, mine.test_images, mine.test_labels),
        "curves": (report.steps, report.training, report.test),
    }


# %% [markdown]
# ## Training
#
# `run` starts the ranks inside this session, shows what rank 0 prints, and returns what the
# function returned. The interrupt button stops all ranks. `results="all"` returns the results of
# every rank, `show="all"` shows the output of every rank, `gpus=1` uses only one GPU.

# %%
log_dir = Path("logs") / f"{datetime.now():%Y-%m-%d_%H.%M.%S}"
ranks = run(train, log_dir, results="all")

# %% [markdown]
# ## All ranks have the same weights
#
# Each rank saw different images. Since the gradients were averaged at every step, all of them end
# with the same weights, to the last bit.

# %%
print("rank  images  checksum of the weights  test accuracy")
for rank in ranks:
    print("{rank:4}  {images:6,}  {weights:>23}  {accuracy:13.4f}".format(**rank))
n_different = len({rank["weights"] for rank in ranks})
print("All ranks have equal weights." if n_different == 1 else "The weights differ!")

# %%
draw_curves(*ranks[0]["curves"])
print(f"Figure: accuracy = {ranks[0]['accuracy']:.4f}")

# %% [markdown]
# **Next:** `convert.ipynb` converts your own notebook step by step, `several_nodes.ipynb` uses more
# GPUs than the session has.
