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
# Trains the network of `templates/pytorch/digits.ipynb` with one process, a *rank*, on each GPU.
# `DistributedDataParallel` averages the gradients of all ranks at each step. The same function then
# trains on two nodes.
#
# | | |
# |---|---|
# | **Data** | 10,000 real digits of MNIST in `isilon`: 8,000 for training, 2,000 for testing |
# | **Time** | one minute with 2 ranks on 2 cores, and the second job's time in the queue |
# | **Devices** | all GPUs of the session, then one on each of two nodes; cores if simulated |
#
# Choose *Run*, *Restart Kernel and Run All Cells*. A session with 2 GPUs trains with 2 ranks.

# %%
import sys

sys.path.append("../shared")

from digits_data import load_digits
from digits_pictures import draw_curves
from digits_torch import describe_devices

from dsportal import run

print(describe_devices())
digits = load_digits()
print(f"{len(digits.train_images):,} digits for training, {len(digits.test_images):,} for testing")

# %% [markdown]
# ## What each rank does
#
# The same as on one GPU, except for five lines:
#
# 1. `dist.init_process_group()` lets the ranks find each other. `dsportal` gives it the place
#    to meet: no address, port or key is needed, and nobody else can join.
# 2. `digits.share(...)` gives each rank its own part of the training images.
# 3. `DistributedDataParallel(model)` gives all ranks the weights of rank 0 to start from, and
#    averages the gradients at each step while they are computed.
# 4. The learning rate is multiplied by the number of ranks: a step sees that many times more
#    images, and an epoch has that many times fewer steps (Goyal et al., 2017).
# 5. Only rank 0 reports; the others would say the same.
#
# Without a device, `init_process_group` uses NCCL between GPUs and Gloo between cores. A function
# that runs under `torchrun` runs here unchanged.

# %%
EPOCHS = 5
BATCH_SIZE_PER_RANK = 64
LEARNING_RATE_OF_ONE_RANK = 2e-3


def train(epochs):
    import torch
    import torch.distributed as dist
    from digits_torch import (
        AccuracyReport,
        accuracy,
        choose_device,
        make_model,
        move_and_turn,
        to_tensors,
        weights_checksum,
    )
    from torch.nn.functional import cross_entropy
    from torch.nn.parallel import DistributedDataParallel
    from torch.optim.lr_scheduler import OneCycleLR

    from dsportal import report as say

    dist.init_process_group()
    rank, n_ranks = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1 + rank)
    mine = load_digits().share(rank, n_ranks)
    images, labels = to_tensors(mine.train_images, mine.train_labels)
    network = make_model().to(choose_device())
    model = DistributedDataParallel(network)
    n_steps = epochs * (len(images) // BATCH_SIZE_PER_RANK)
    optimizer = torch.optim.Adam(model.parameters())
    rate = LEARNING_RATE_OF_ONE_RANK * n_ranks
    schedule = OneCycleLR(optimizer, max_lr=rate, total_steps=n_steps)
    report = AccuracyReport(mine, every_steps=50)
    step = 0
    for epoch in range(1, epochs + 1):
        for batch in torch.randperm(len(images), device=images.device).split(BATCH_SIZE_PER_RANK):
            if len(batch) < BATCH_SIZE_PER_RANK:
                continue
            optimizer.zero_grad()
            loss = cross_entropy(model(move_and_turn(images[batch])), labels[batch])
            loss.backward()
            optimizer.step()
            schedule.step()
            step += 1
            say(step=step, steps=n_steps, images=len(batch), loss=loss.item())
            if rank == 0:
                report.step(network, step, epoch, is_last=step == n_steps)
    test = to_tensors(mine.test_images, mine.test_labels)
    dist.destroy_process_group()
    return {
        "rank": rank,
        "images": len(images),
        "weights": weights_checksum(network),
        "accuracy": accuracy(network, *test),
        "curves": (report.steps, report.training, report.test),
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
# `run` starts the ranks inside this session, shows what rank 0 prints with a progress bar below,
# and returns what the function returned. The interrupt button stops all ranks.

# %%
ranks = run(train, EPOCHS, results="all")

# %% [markdown]
# Each rank saw different images. Since the gradients were averaged at every step, all of them end
# with the same weights, to the last bit.

# %%
compare(ranks)
print(f"Figure: accuracy = {ranks[0]['accuracy']:.4f}")

# %% tags=["gallery"]
draw_curves(*ranks[0]["curves"])

# %% [markdown]
# ## Over nodes
#
# With `nodes=2` the same call queues a separate job, waits for it, and shows its output here. It
# requests a quarter of an hour, since short jobs start sooner. With `wait=False` it continues
# without the notebook; `attach()` finds it again.

# %%
compare(run(train, 1, gpus=2, nodes=2, results="all", hours=0.25))
