# ---
# jupyter:
#   kernelspec:
#     display_name: PyTorch
#     language: python
#     name: pytorch
#   portal:
#     packages: [cloudpickle, matplotlib, torch]
# ---
# ruff: noqa: D100, D101, D102, D103

# %% [markdown]
# # A model that one GPU cannot hold: FSDP
#
# `DistributedDataParallel` keeps the whole model on each GPU. *Fully sharded data parallel* (FSDP)
# keeps only a part of weights, gradients and optimizer on each: a layer is put together when it is
# computed, and taken apart again. Trains the same transformer in both ways on two ranks, and
# compares memory, losses and speed.
#
# | | |
# |---|---|
# | **Data** | the reference of the Python language, 470 KB of text that Python ships |
# | **Time** | half a minute with 2 ranks on 2 cores |
# | **Devices** | all GPUs of the session; its cores if the GPUs are simulated |

# %%
import os
import time

import matplotlib.pyplot as plt
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from dsportal import run

# %% [markdown]
# ## The model and the text
#
# A language model that predicts the next letter, of 8 transformer blocks.

# %%
WIDTH, N_BLOCKS, CONTEXT, BATCH_SIZE = 192, 8, 32, 8


class LanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.letters = nn.Embedding(128, WIDTH)
        self.places = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(
                WIDTH, 4, 4 * WIDTH, dropout=0.0, batch_first=True, norm_first=True
            )
            for _ in range(N_BLOCKS)
        )
        self.out = nn.Linear(WIDTH, 128)

    def forward(self, letters):
        length = letters.shape[1]
        x = self.letters(letters) + self.places(torch.arange(length, device=letters.device))
        mask = nn.Transformer.generate_square_subsequent_mask(length, device=letters.device)
        for block in self.blocks:
            x = block(x, src_mask=mask, is_causal=True)
        return self.out(x.flatten(0, 1))  # a row for each letter


def load_letters():
    from pydoc_data.topics import topics

    text = "\n\n".join(topics[name] for name in sorted(topics))
    return torch.tensor([min(ord(letter), 127) for letter in text])


# %% [markdown]
# ## Two ways to train it
#
# With FSDP, three lines differ from training on one GPU:
#
# 1. Each block is sharded on its own, so that only one of them is whole at a time.
# 2. Then the whole model, which takes what is left.
# 3. The optimizer is made **after** that: it then holds the moments of this rank's part alone.
#
# What each rank holds is counted: weights, gradients and the two moments of Adam, in MiB.


# %%
def train(way, n_steps):
    dist.init_process_group()
    rank, n_ranks = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device.type == "cpu":
        torch.set_num_threads(1)  # one core for each rank, as a GPU would be its own
    torch.manual_seed(1)  # the same weights on all ranks
    model = LanguageModel().to(device)
    if way == "FSDP":
        for block in model.blocks:
            fully_shard(block)  # 1
        fully_shard(model)  # 2
    elif way == "DDP":
        model = DistributedDataParallel(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)  # 3

    letters = load_letters()
    torch.manual_seed(2 + rank)  # other pieces of the text on each rank
    losses, began = [], 0.0
    for step in range(n_steps):
        if step == 3:  # the first steps also make buffers and connections
            began = time.perf_counter()
        places = torch.randint(len(letters) - CONTEXT, (BATCH_SIZE, 1)) + torch.arange(CONTEXT + 1)
        pieces = letters[places].to(device)
        optimizer.zero_grad()
        loss = cross_entropy(model(pieces[:, :-1]), pieces[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    losses = torch.stack(losses)
    rate = n_ranks * (n_steps - 3) * BATCH_SIZE / (time.perf_counter() - began)
    dist.all_reduce(losses)

    def mib(tensors):
        local = (t.to_local() if isinstance(t, DTensor) else t for t in tensors)
        return sum(t.numel() * t.element_size() for t in local) / 2**20

    weights = list(model.parameters())
    held = {
        "weights": mib(weights),
        "gradients": mib(p.grad for p in weights if p.grad is not None),
        "optimizer": mib(
            value
            for state in optimizer.state.values()
            for value in state.values()
            if torch.is_tensor(value) and value.dim()
        ),
    }
    dist.destroy_process_group()
    return {"held": held, "losses": (losses / n_ranks).tolist(), "pieces/s": rate}


# %%
N_STEPS = 20

results = {way: run(train, way, N_STEPS, results="all") for way in ("DDP", "FSDP")}
n_ranks = len(results["DDP"])
print("        rank   weights  gradients  optimizer  MiB in all")
for way, ranks in results.items():
    for number, rank in enumerate(ranks):
        held = rank["held"]
        sizes = "  ".join(f"{value:9.1f}" for value in held.values())
        print(f"{way:6}  {number:4} {sizes}  {sum(held.values()):10.1f}")

# %% [markdown]
# ## The same training
#
# Sharding changes where the numbers are, not what they are: the losses of both ways are equal up to
# rounding.

# %%
losses = {way: ranks[0]["losses"] for way, ranks in results.items()}
apart = max(abs(a - b) for a, b in zip(*losses.values(), strict=True))
print(f"Largest difference of a loss: {apart:.1e}, with losses from {losses['DDP'][0]:.2f}")
print(f"to {losses['DDP'][-1]:.2f}.")

# %% tags=["gallery"]
_, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
bottom = [0.0, 0.0]
for part, colour in zip(
    ("weights", "gradients", "optimizer"), ("#0b6bcb", "#e07b00", "#9aa5b1"), strict=True
):
    sizes = [ranks[0]["held"][part] for ranks in results.values()]
    left.bar(list(results), sizes, bottom=bottom, color=colour, width=0.5, label=part)
    bottom = [below + size for below, size in zip(bottom, sizes, strict=True)]
left.set(ylabel="MiB on one rank")
left.legend(frameon=False)
right.plot(losses["DDP"], color="#9aa5b1", linewidth=6, alpha=0.5, label="DDP")
right.plot(losses["FSDP"], color="#0b6bcb", label="FSDP")
right.set(xlabel="step", ylabel="loss")
right.legend(frameon=False)
for axis in (left, right):
    axis.spines[["top", "right"]].set_visible(False)

# %% [markdown]
# ## Was it faster?
#
# FSDP is for memory, not for speed: it sends each layer's weights around in each step, in addition
# to the gradients that DDP sends. Use DDP as long as the model fits.

# %%
(one,) = run(train, "one", N_STEPS, gpus=1, results="all")
rates = {way: ranks[0]["pieces/s"] for way, ranks in results.items()}
print(f"1 GPU: {one['pieces/s']:,.1f} pieces of text a second")
for way, rate in rates.items():
    ratio = rate / one["pieces/s"]
    print(f"{n_ranks} GPUs with {way}: {rate:,.1f}, {ratio:.2f} times as fast")
if os.environ.get("PORTAL_GPUS_SIMULATED") == "1":
    print("These GPUs are simulated: the ranks compute on the same cores, and share those with")
    print("whatever else runs there.")

# %% [markdown]
# ## For your own model
#
# * Shard the repeated blocks, not each small layer: every sharded module is a call to all ranks.
# * What is not counted here are the *activations*, which grow with the batch:
#   `torch.utils.checkpoint` computes them again instead of keeping them.
# * With FSDP each rank holds a part of the checkpoint: save with
#   `torch.distributed.checkpoint`, which puts the parts together when they are loaded.
# * On GPUs add `mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16)` to `fully_shard`: half
#   of the bytes travel.
#
# **Next:** [how many GPUs should I use?](../../templates/scaling/study.ipynb)
