# ---
# jupyter:
#   kernelspec:
#     display_name: MXNet
#     language: python
#     name: mxnet
#   portal:
#     packages: [cloudpickle, matplotlib, mxnet, numpy]
# ---
# ruff: noqa: D100, D103

# %% [markdown]
# # Handwritten digits with MXNet on all GPUs of the session
#
# **MXNet is not developed any more**: Apache retired it in 2023, and 1.9.1 is its last release.
# This notebook keeps older work running; start new work with PyTorch (`templates/pytorch`).
#
# | | |
# |---|---|
# | **Data** | 10,000 real digits of MNIST in `isilon`: 8,000 for training, 2,000 for testing |
# | **Time** | about half a minute with 2 ranks on 2 cores |
# | **Devices** | all GPUs of the session, on one node; its cores if the GPUs are simulated |
#
# Choose *Run*, *Restart Kernel and Run All Cells*. The kernel is available if the administrators
# have built it: `deploy/environments/build mxnet package`.

# %%
import sys

sys.path.append("../shared")

from digits_data import load_digits
from digits_pictures import draw_curves

from dsportal import run

digits = load_digits()
print(f"{len(digits.train_images):,} digits for training, {len(digits.test_images):,} for testing")

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

    import mxnet as mx
    import numpy as np
    from mxnet import autograd, gluon, nd

    store = mx.kv.create("dist_sync")
    context = mx.gpu() if mx.context.num_gpus() else mx.cpu()
    mx.random.seed(1)
    np.random.seed(store.rank)
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
    measure = gluon.loss.SoftmaxCrossEntropyLoss()
    mine = load_digits().share(store.rank, store.num_workers)

    def on_device(images):
        return nd.array(images.transpose(0, 3, 1, 2), ctx=context)

    def share_read_rightly(images, labels):
        return float((network(on_device(images)).argmax(axis=1).asnumpy() == labels).mean())

    curves = ([], [], [])
    step = 0
    n_batches = len(mine.train_images) // BATCH_SIZE_PER_RANK
    for epoch in range(1, epochs + 1):
        order = np.random.permutation(len(mine.train_images))
        for batch in np.split(order[: n_batches * BATCH_SIZE_PER_RANK], n_batches):
            truth = nd.array(mine.train_labels[batch], ctx=context)
            with autograd.record():
                loss = measure(network(on_device(mine.train_images[batch])), truth)
            loss.backward()
            trainer.step(len(batch) * store.num_workers)
            step += 1
        training = share_read_rightly(mine.train_images[:2000], mine.train_labels[:2000])
        test = share_read_rightly(mine.test_images, mine.test_labels)
        for values, value in zip(curves, (step, training, test), strict=True):
            values.append(value)
        if store.rank == 0:
            print(f"Epoch {epoch}, Training Accuracy {training:.4f}, Test Accuracy {test:.4f}")
    digest = hashlib.sha256()
    for _, parameter in sorted(network.collect_params().items()):
        digest.update(parameter.data(context).asnumpy().tobytes())
    return {
        "rank": store.rank,
        "n_ranks": store.num_workers,
        "weights": digest.hexdigest()[:16],
        "accuracy": test,
        "curves": curves,
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
print(f"Figure: accuracy = {ranks[0]['accuracy']:.4f}")

# %% tags=["gallery"]
draw_curves(*ranks[0]["curves"])
