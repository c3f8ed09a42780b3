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
# # From one GPU to all of them, step by step
#
# Begins with a notebook for one GPU and ends with the same training on all GPUs of the session, or
# on many nodes. Each step says what goes wrong without it.
#
# | | |
# |---|---|
# | **Data** | 10,000 real digits of MNIST in `isilon`: 3,000 for training, 2,000 for testing |
# | **Time** | about one minute on 2 cores |
# | **Devices** | first one GPU, then all GPUs of the session; its cores if they are simulated |

# %%
import sys

sys.path.append("../shared")

from charts import draw_lines, panels

from dsportal import run

N_IMAGES = 3_000
EPOCHS = 3
BATCH_SIZE = 64
RATE = 1e-3

# %% [markdown]
# ## Step 0: a function
#
# The training becomes a function: it imports and reads everything that it needs, and returns what
# you want to see afterwards. It is the training that you have, and still runs on one GPU.


# %%
def train_on_one():
    from digits_data import load_digits
    from digits_model import make_model, weights_checksum
    from keras.optimizers import Adam

    digits = load_digits().first(N_IMAGES)
    model = make_model(moves_images=False)
    model.compile(
        optimizer=Adam(RATE),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
        jit_compile=False,
    )
    history = model.fit(
        digits.train_images,
        digits.train_labels,
        batch_size=BATCH_SIZE,
        epochs=EPOCHS,
        validation_data=(digits.test_images, digits.test_labels),
        verbose=0,
    )
    return {
        "steps": history.params["steps"] * EPOCHS,
        "accuracies": history.history["val_accuracy"],
        "weights": weights_checksum(model),
    }


one = train_on_one()
print(f"{one['steps']} steps, test accuracy {one['accuracies'][-1]:.4f}")

# %% [markdown]
# ## What happens without the other steps
#
# `run` starts the function once for each GPU. Without further changes these are N separate
# trainings on the same images: N times the work for nothing, and N different networks. Nothing
# fails, so compare the checksums.

# %%
apart = run(train_on_one, results="all")
for number, rank in enumerate(apart):
    print(f"process {number}: {rank['steps']} steps, weights {rank['weights']}")

# %% [markdown]
# ## Steps 1 to 6
#
# | | what is added | without it |
# |---|---|---|
# | 1 | `hvd.init()` | the ranks do not know about each other |
# | 2 | `digits.share(rank, size)` | each rank trains on all images: no time is saved |
# | 3 | `hvd.DistributedOptimizer` | gradients are not averaged: N networks that drift apart |
# | 4 | rate times `hvd.size()`, with a warm-up | fewer steps of the same length: it learns less |
# | 5 | `BroadcastGlobalVariablesCallback(0)` | ranks that start differently stay different |
# | 6 | only rank 0 prints, logs and saves | N processes write the same files at the same time |
#
# Use `dsportal.horovod_keras`. Horovod's own Keras module averages nothing under Keras 3 and
# does not say so; the portal refuses it.


# %%
def train_on_all(scales_rate=True):
    from digits_data import load_digits
    from digits_model import make_model, weights_checksum
    from keras.optimizers import Adam

    import dsportal.horovod_keras as hvd

    hvd.init()  # 1
    digits = load_digits().first(N_IMAGES).share(hvd.rank(), hvd.size())  # 2
    rate = RATE * hvd.size() if scales_rate else RATE  # 4
    model = make_model(moves_images=False)
    model.compile(
        optimizer=hvd.DistributedOptimizer(Adam(rate)),  # 3
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
        jit_compile=False,
    )
    history = model.fit(
        digits.train_images,
        digits.train_labels,
        batch_size=BATCH_SIZE,
        epochs=EPOCHS,
        validation_data=(digits.test_images, digits.test_labels),
        callbacks=[
            hvd.callbacks.BroadcastGlobalVariablesCallback(0),  # 5
            hvd.callbacks.LearningRateWarmupCallback(rate, warmup_epochs=1),  # 4
        ],
        verbose=0,
    )
    if hvd.rank() == 0:  # 6
        model.save("digits.keras")
        print(f"{history.params['steps'] * EPOCHS} steps, saved as digits.keras", flush=True)
    return {
        "size": hvd.size(),
        "accuracies": history.history["val_accuracy"],
        "weights": weights_checksum(model),
    }


together = run(train_on_all, results="all")
n_ranks = together[0]["size"]
for number, rank in enumerate(together):
    print(f"rank {number}: weights {rank['weights']}, accuracy {rank['accuracies'][-1]:.4f}")

# %% [markdown]
# ## The learning-rate rule
#
# With N ranks a step sees N times as many images, so an epoch has N times fewer steps. To make the
# same progress, each step is made N times longer: **rate of one GPU x N**. At the very start such
# steps diverge, so the rate is warmed up over some epochs (Goyal et al., 2017; they needed 5 of
# 90). For ResNet50 this works up to about 8,000 images a step; beyond that accuracy is lost
# whatever the rate.
#
# On the left is the rule, for 1 to 8 GPUs; on the right its result here, in as many epochs and 1/N
# of the steps.

# %%
unscaled = run(train_on_all, scales_rate=False)

# %% tags=["gallery"]
left, right = panels(2)
for n_gpus in (1, 2, 4, 8):
    climb = [RATE * (1 + (n_gpus - 1) * min(epoch / 2, 1)) for epoch in range(6)]
    left.plot(range(6), climb, marker=".", label=f"{n_gpus} GPUs" if n_gpus > 1 else "1 GPU")
left.set(xlabel="epoch", ylabel="learning rate", title="Warm-up over 2 epochs")
left.legend(frameon=False)
curves = {
    "1 GPU": one["accuracies"],
    f"{n_ranks} GPUs, rate x {n_ranks}": together[0]["accuracies"],
    f"{n_ranks} GPUs, same rate": unscaled["accuracies"],
}
epochs = range(1, EPOCHS + 1)
lines = {name: (epochs, curve) for name, curve in curves.items()}
right.set_xticks(epochs)
draw_lines(right, lines, xlabel="epoch", ylabel="test accuracy")

# %% [markdown]
# ## Only on rank 0, or on all?
#
# | only `if hvd.rank() == 0` | on every rank |
# |---|---|
# | `print`, progress bars | `hvd.init()`, building and compiling the model |
# | `TensorBoard(...)`, `ModelCheckpoint(...)` | reading its own part of the data |
# | `model.save(...)`, pictures | `model.fit`, `hvd.allreduce`, `hvd.broadcast` |
# | unpacking a data set, before the others read it | `MetricAverageCallback()` |
#
# A call that averages waits for all ranks. On rank 0 alone it waits for ever: the usual reason why
# a training hangs.
#
# **Early stopping** must be decided the same way everywhere: average the metric first, with
# `hvd.callbacks.MetricAverageCallback()` before `EarlyStopping(...)`.
#
# Now the same function runs on two nodes: `run(train_on_all, gpus=8, nodes=2)`; see
# `templates/horovod/several_nodes.ipynb`. For PyTorch see `templates/pytorch`.

# %%
print(f"Figure: accuracy = {together[0]['accuracies'][-1]:.4f}")
