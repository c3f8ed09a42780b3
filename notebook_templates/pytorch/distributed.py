# ---
# jupyter:
#   kernelspec:
#     display_name: PyTorch
#     language: python
#     name: pytorch
#   portal:
#     packages: [cloudpickle, matplotlib, numpy, torch]
# ---
# ruff: noqa: D100, D103

# %% [markdown]
# # Handwritten digits with PyTorch on all GPUs, and over nodes
#
# Trains [this network](../../templates/pytorch/digits.ipynb) with one process, a *rank*, on each
# GPU. `DistributedDataParallel` averages the gradients of all ranks at each step. The same function
# then trains on two nodes. At the end: was it faster than one GPU?
#
# | | |
# |---|---|
# | **Data** | 10,000 digits of MNIST: 7,000 to train, 1,000 to validate, 2,000 to test |
# | **Time** | about 45 seconds on 2 cores, and the second job's time in the queue |
# | **Devices** | all GPUs of the session, then one on each of two nodes; cores if simulated |
#
# Choose *Run*, *Restart Kernel and Run All Cells*. A session with 2 GPUs trains with 2 ranks.

# %%
import hashlib
import sys
import time
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

sys.path += [str(Path("../shared").resolve()), str(Path.home() / "templates/shared")]
from lesson import digits_path, draw_curves, explain_speedup

from dsportal import report, run

print(f"PyTorch {torch.__version__}")

# %% [markdown]
# ## What each rank does
#
# The same as on one GPU, except for the lines with a number:
#
# 1. The ranks find each other. `dsportal` tells them where to meet: no address, port or key is
#    needed, and nobody else can join.
# 2. Each rank computes on its own GPU.
# 3. `DistributedSampler` gives each rank its own part of the training images, another one in each
#    epoch (that is what `set_epoch` is for).
# 4. `DistributedDataParallel` gives all ranks the weights of rank 0 to start from, and averages the
#    gradients at each step while they are computed.
# 5. The learning rate is multiplied by the number of ranks: a step sees that many times more
#    images, and an epoch has that many times fewer steps (Goyal et al., 2017).
# 6. `report` feeds one progress bar for all ranks in the cell.
#
# Without a backend, `init_process_group` uses NCCL between GPUs and Gloo between cores. A function
# that runs under `torchrun` runs here unchanged.

# %%
BATCH_SIZE_PER_RANK = 64
RATE_OF_ONE_RANK = 2e-3


def load_digits():
    with np.load(digits_path()) as file:
        images, labels = file["x"], file["y"]
    order = np.random.default_rng(1).permutation(len(images))
    images = torch.from_numpy(images[order]).unsqueeze(1).float() / 255
    labels = torch.from_numpy(labels[order]).long()
    parts = (slice(7_000), slice(7_000, 8_000), slice(8_000, None))
    return [TensorDataset(images[part], labels[part]) for part in parts]


def make_model():
    return nn.Sequential(
        nn.Conv2d(1, 32, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * 5 * 5, 128),
        nn.ReLU(),
        nn.Dropout(0.4),
        nn.Linear(128, 10),
    )


@torch.inference_mode()
def accuracy(model, data, device):
    model.eval()
    images, labels = data.tensors
    return (model(images.to(device)).argmax(dim=1).cpu() == labels).float().mean().item()


def train(epochs):
    dist.init_process_group()  # 1
    rank, n_ranks = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")  # 2
    if device.type == "cpu":
        torch.set_num_threads(1)  # one core for each rank, as a GPU would be its own
    torch.manual_seed(1 + rank)
    training, validation, test = load_digits()
    sampler = DistributedSampler(training)  # 3
    loader = DataLoader(training, BATCH_SIZE_PER_RANK, sampler=sampler, drop_last=True)
    network = make_model().to(device)
    model = DistributedDataParallel(network)  # 4
    n_steps = epochs * len(loader)
    optimizer = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer,
        max_lr=RATE_OF_ONE_RANK * n_ranks,  # 5
        total_steps=n_steps,
    )
    step, rates, accuracies = 0, [], []
    for epoch in range(epochs):
        sampler.set_epoch(epoch)  # 3
        network.train()
        began = time.perf_counter()
        for images, labels in loader:
            optimizer.zero_grad()
            loss = cross_entropy(model(images.to(device)), labels.to(device))
            loss.backward()
            optimizer.step()
            schedule.step()
            step += 1
            if step % 10 == 0:
                report(step=step, steps=n_steps, images=10 * len(images), loss=loss.item())  # 6
        n_images = n_ranks * len(loader) * BATCH_SIZE_PER_RANK
        rates.append(n_images / (time.perf_counter() - began))
        accuracies.append(accuracy(network, validation, device))
    dist.destroy_process_group()
    weights = b"".join(p.detach().cpu().numpy().tobytes() for p in network.parameters())
    return {
        "rank": rank,
        "images": len(sampler),
        "images/s": max(rates),
        "weights": hashlib.sha256(weights).hexdigest()[:16],
        "validation": accuracies,
        "accuracy": accuracy(network, test, device),
    }


def compare(ranks):
    print("rank  images  checksum of the weights  test accuracy")
    for rank in ranks:
        print("{rank:4}  {images:6,}  {weights:>23}  {accuracy:13.4f}".format(**rank))
    n_different = len({rank["weights"] for rank in ranks})
    print("All ranks have equal weights." if n_different == 1 else "The weights differ!")


# %% [markdown]
# ## On the session's GPUs
#
# `run` starts the ranks inside this session, shows what rank 0 prints with a progress bar above,
# and returns what the function returned. The interrupt button stops all ranks.

# %%
ranks = run(train, 5, results="all")

# %% [markdown]
# Each rank saw different images. Since the gradients were averaged at every step, all of them end
# with the same weights, to the last bit.

# %%
compare(ranks)
print(f"Test accuracy: {ranks[0]['accuracy']:.4f}")

# %% [markdown]
# ## Was it faster?

# %%
(one,) = run(train, 2, gpus=1, results="all")
print(explain_speedup(one["images/s"], ranks[0]["images/s"], len(ranks)))

# %% tags=["gallery"]
draw_curves({"one rank": one["validation"], f"{len(ranks)} ranks": ranks[0]["validation"]})

# %% [markdown]
# ## Over nodes
#
# With `nodes=2` the same call queues a separate job, waits for it, and shows its output here. It
# requests a quarter of an hour, since short jobs start sooner. With `wait=False` it continues
# without the notebook; `attach()` finds it again.

# %%
over_nodes = run(train, 2, gpus=2, nodes=2, results="all", hours=0.25)
compare(over_nodes)
print(explain_speedup(one["images/s"], over_nodes[0]["images/s"], 2))

# %% [markdown]
# **Next:** [a scaling study](../../templates/scaling/study.ipynb) says how many GPUs are worth
# using for your own model.
