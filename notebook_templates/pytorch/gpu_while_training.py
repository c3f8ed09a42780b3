# ---
# jupyter:
#   kernelspec:
#     display_name: PyTorch
#     language: python
#     name: pytorch
#   portal:
#     packages: [matplotlib, numpy, torch]
# ---
# ruff: noqa: D100, D103, F821

# %% [markdown]
# # A GPU only while you train
#
# Reads data, builds a network and looks at results without a GPU. Only the cell that trains has
# one, in a Slurm job of its own: it begins with `with gpus(1):`, waits for the GPU, trains there,
# and gives it back. The variables go there and come back.
#
# | | |
# |---|---|
# | **Data** | 10,000 digits of MNIST: 7,000 to train, 1,000 to validate, 2,000 to test |
# | **Time** | half a minute on 2 cores, and the time that Slurm needs to find a GPU |
# | **Devices** | a session without a GPU, and one GPU while it trains |
#
# Choose *Run*, *Restart Kernel and Run All Cells*. Then read from top to bottom.

# %%
import os
import socket
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

sys.path += [str(Path("../shared").resolve()), str(Path.home() / "templates/shared")]
from lesson import digits_path, draw_curves, draw_mistakes


def here():
    return f"job {os.environ['SLURM_JOB_ID']} on {socket.gethostname()}"


print(f"This notebook runs in {here()}. Its kernel has:")

# %%
# %gpu

# %% [markdown]
# The button beside the kernel's name says the same. Nobody waits for a GPU while you read data and
# write code.

# %%
with np.load(digits_path()) as file:
    images, labels = file["x"], file["y"]
order = np.random.default_rng(1).permutation(len(images))
images = torch.from_numpy(images[order]).unsqueeze(1).float() / 255  # (n, channels, height, width)
labels = torch.from_numpy(labels[order]).long()
train, validation, test = slice(7_000), slice(7_000, 8_000), slice(8_000, None)

torch.manual_seed(1)
model = nn.Sequential(
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
losses, validation_accuracies = [], []


def train_epoch(device, optimizer):
    model.train()
    found = []
    for batch in torch.randperm(7_000).split(64):
        optimizer.zero_grad()
        loss = cross_entropy(model(images[batch].to(device)), labels[batch].to(device))
        loss.backward()
        optimizer.step()
        found.append(loss.detach())
    return torch.stack(found).mean().item()


@torch.inference_mode()
def predict(images, device="cpu"):
    model.eval()
    return torch.cat([model(part.to(device)).softmax(dim=1).cpu() for part in images.split(500)])


def accuracy(part, device="cpu"):
    return (predict(images[part], device).argmax(dim=1) == labels[part]).float().mean().item()


# %% [markdown]
# ## The cell that trains
#
# The block is the whole cell. What it changes, such as the weights of `model` and the lists above,
# is back when it has ended, also after an error or an interrupt. `model.cpu()` at its end brings
# the weights off the GPU, since the session has none.
#
# While the job waits, the cell says why, and its place in the queue. *Interrupt* cancels it.

# %%
with gpus(1, hours=0.5):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    training = here()
    print(f"Training in {training}, on {device}")
    optimizer = torch.optim.Adam(model.to(device).parameters())
    for epoch in range(4):
        losses.append(train_epoch(device, optimizer))
        validation_accuracies.append(accuracy(validation, device))
        print(f"Epoch {epoch + 1}  validation accuracy {validation_accuracies[-1]:.4f}", flush=True)
    model.cpu()
    ended_s = time.time()

# %% [markdown]
# ## The result, without a GPU
#
# The cells below run in the session again. The GPU is free for others.

# %% tags=["gallery"]
print(f"Trained in {training}. This cell runs in {here()}.")
draw_curves({"validation": validation_accuracies})

# %%
predicted = predict(images[test])
print(f"Test accuracy: {(predicted.argmax(dim=1) == labels[test]).float().mean():.4f}")
draw_mistakes(images[test].permute(0, 2, 3, 1).numpy(), labels[test].numpy(), predicted.numpy())

# %%
# %gpu

# %% [markdown]
# ## When one cell is not enough
#
# `%gpu 1` gives this notebook's kernel a GPU until `%gpu 0`, with its variables: for some hours of
# trying things out on it. The cells below `%gpu` then have to be run once more. If nothing uses the
# GPU for a while, the portal takes it back, where your site has set that, and the kernel goes on.
#
# In the guide, "GPUs for a kernel" says what comes along, and what cannot.
