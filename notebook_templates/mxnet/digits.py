# ---
# jupyter:
#   kernelspec:
#     display_name: MXNet
#     language: python
#     name: mxnet
#   portal:
#     packages: [cloudpickle, matplotlib, mxnet, numpy]
#     optional: true
# ---
# ruff: noqa: D100, D103

# %% [markdown]
# # Handwritten digits with MXNet on all GPUs of the session
#
# **MXNet is not developed any more**: Apache retired it in 2023, and 1.9.1 is its last release.
# This notebook keeps older work running; start new work with
# [PyTorch](../../templates/pytorch/digits.ipynb).
#
# | | |
# |---|---|
# | **Data** | 10,000 digits of MNIST: 7,000 to train, 1,000 to validate, 2,000 to test |
# | **Time** | about two minutes with 2 ranks on 2 cores |
# | **Devices** | all GPUs of the session, on one node; its cores if the GPUs are simulated |
#
# Choose *Run*, *Restart Kernel and Run All Cells*. The kernel is available if the administrators
# have built it: `deploy/environments/build mxnet package`.

# %%
import sys
from pathlib import Path

import numpy as np

sys.path += [str(Path("../shared").resolve()), str(Path.home() / "templates/shared")]
from lesson import digits_path, draw_curves, explain_speedup

from dsportal import run


def load_digits():
    with np.load(digits_path()) as file:
        images, labels = file["x"], file["y"]
    order = np.random.default_rng(1).permutation(len(images))
    images = images[order][:, np.newaxis].astype("float32") / 255  # (n, channels, height, width)
    labels = labels[order].astype("float32")
    ends = [7_000, 8_000]  # training, validation, test
    return list(zip(np.split(images, ends), np.split(labels, ends), strict=True))


# %% [markdown]
# ## What each rank does
#
# `mx.kv.create("dist_sync")` creates the store that sums the gradients of all ranks.
# `dsportal` starts its scheduler and its server on sockets that only you can open: MXNet
# itself would accept everybody who can reach its ports. For that reason a run stays on one node.

# %%
EPOCHS = 4
BATCH_SIZE_PER_RANK = 64


def train(epochs):
    import hashlib
    import time

    import mxnet as mx
    from mxnet import autograd, gluon, nd

    store = mx.kv.create("dist_sync")
    context = mx.gpu() if mx.context.num_gpus() else mx.cpu()
    mx.random.seed(1)
    random = np.random.default_rng(store.rank)
    network = gluon.nn.HybridSequential()
    network.add(
        gluon.nn.Conv2D(32, 3, activation="relu"),
        gluon.nn.MaxPool2D(),
        gluon.nn.Conv2D(64, 3, activation="relu"),
        gluon.nn.MaxPool2D(),
        gluon.nn.Dense(128, activation="relu"),
        gluon.nn.Dropout(0.4),
        gluon.nn.Dense(10),
    )
    network.initialize(mx.init.Xavier(), ctx=context)
    network.hybridize()
    trainer = gluon.Trainer(
        network.collect_params(), "adam", {"learning_rate": 2e-3}, kvstore=store
    )
    cross_entropy = gluon.loss.SoftmaxCrossEntropyLoss()
    (images, labels), validation, test = load_digits()
    mine = np.arange(store.rank, len(images), store.num_workers)
    n_batches = len(mine) // BATCH_SIZE_PER_RANK

    def accuracy(images, labels):
        scores = network(nd.array(images, ctx=context))
        return float((scores.argmax(axis=1).asnumpy() == labels).mean())

    accuracies, rates = [], []
    for epoch in range(1, epochs + 1):
        began = time.perf_counter()
        order = random.permutation(mine)[: n_batches * BATCH_SIZE_PER_RANK]
        for batch in np.split(order, n_batches):
            with autograd.record():
                scores = network(nd.array(images[batch], ctx=context))
                loss = cross_entropy(scores, nd.array(labels[batch], ctx=context))
            loss.backward()
            trainer.step(len(batch) * store.num_workers)
        nd.waitall()
        n_images = store.num_workers * n_batches * BATCH_SIZE_PER_RANK
        rates.append(n_images / (time.perf_counter() - began))
        accuracies.append(accuracy(*validation))
        if store.rank == 0:
            print(f"Epoch {epoch}  validation accuracy {accuracies[-1]:.4f}", flush=True)
    weights = b"".join(
        parameter.data(context).asnumpy().tobytes()
        for _, parameter in sorted(network.collect_params().items())
    )
    return {
        "rank": store.rank,
        "n_ranks": store.num_workers,
        "images/s": max(rates),
        "weights": hashlib.sha256(weights).hexdigest()[:16],
        "validation": accuracies,
        "accuracy": accuracy(*test),
    }


# %% [markdown]
# ## Training

# %%
ranks = run(train, EPOCHS, results="all")

# %% [markdown]
# Each rank saw different images. Since the gradients were summed at every step, all of them end
# with the same weights.

# %%
print("rank  checksum of the weights  test accuracy")
for rank in ranks:
    print("{rank:4}  {weights:>23}  {accuracy:13.4f}".format(**rank))
n_different = len({rank["weights"] for rank in ranks})
print("All ranks have equal weights." if n_different == 1 else "The weights differ!")
print(f"Test accuracy: {ranks[0]['accuracy']:.4f}")

# %% [markdown]
# ## Was it faster?

# %%
(one,) = run(train, 2, gpus=1, results="all")
print(explain_speedup(one["images/s"], ranks[0]["images/s"], len(ranks)))

# %% tags=["gallery"]
draw_curves({"one rank": one["validation"], "all ranks": ranks[0]["validation"]})
