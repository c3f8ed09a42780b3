# ---
# jupyter:
#   kernelspec:
#     display_name: PyTorch
#     language: python
#     name: pytorch
#   portal:
#     packages: [matplotlib, numpy, tensorboard, torch, torchvision]
# ---
# ruff: noqa: D100, D103

# %% [markdown]
# # Handwritten digits with PyTorch
#
# Trains a small convolutional network to read handwritten digits, in an explicit training loop fed
# by a `DataLoader`, shows how well it reads, saves the network and writes logs for TensorBoard.
#
# | | |
# |---|---|
# | **Data** | 10,000 digits of MNIST: 7,000 to train, 1,000 to validate, 2,000 to test |
# | **Time** | half a minute on 2 cores, seconds on a GPU |
# | **Devices** | one GPU of the session; its cores if the GPUs are simulated |
#
# Choose *Run*, *Restart Kernel and Run All Cells*.

# %%
import sys
from datetime import datetime
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.tensorboard import SummaryWriter
from torchvision.transforms import v2

sys.path += [str(Path("../shared").resolve()), str(Path.home() / "templates/shared")]
from lesson import digits_path, draw_curves, draw_digits, draw_mistakes

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
if device.type == "cpu":
    torch.set_num_threads(1)  # steps this short gain nothing from threads that wait for each other
print(f"PyTorch {torch.__version__}, trains on {device.type}")

# %% [markdown]
# ## The data
#
# Images of 28 x 28 grey values, from 0 (paper) to 1 (ink), in three parts: the network learns from
# the training images; the validation images say how well it is doing while you choose rate, layers
# and epochs; the test images are used once, at the end.

# %%
BATCH_SIZE = 64

with np.load(digits_path()) as file:
    images, labels = file["x"], file["y"]
order = np.random.default_rng(1).permutation(len(images))
images = torch.from_numpy(images[order]).unsqueeze(1).float() / 255  # (n, channels, height, width)
labels = torch.from_numpy(labels[order]).long()

train = TensorDataset(images[:7_000], labels[:7_000])
validation = TensorDataset(images[7_000:8_000], labels[7_000:8_000])
test = TensorDataset(images[8_000:], labels[8_000:])

torch.manual_seed(1)
train_loader = DataLoader(train, batch_size=BATCH_SIZE, shuffle=True, drop_last=True)
validation_loader = DataLoader(validation, batch_size=500)
test_loader = DataLoader(test, batch_size=500)
draw_digits(images.permute(0, 2, 3, 1).numpy(), labels.numpy())

# %% [markdown]
# ## The network

# %%
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
).to(device)
print(f"{sum(parameter.numel() for parameter in model.parameters()):,} weights")

# %% [markdown]
# ## Training
#
# Each batch is shifted by up to 2 pixels and rotated by up to 11 degrees, each time differently:
# this *augmentation* keeps the network from learning the images by heart. The learning rate rises
# and then falls to zero within one cycle.
#
# `model.train()` switches dropout on, `model.eval()` off. The losses stay on the device until the
# epoch is over: `loss.item()` in each step would make Python wait for the GPU each time.

# %%
EPOCHS = 6

augment = v2.RandomAffine(degrees=11, translate=(0.07, 0.07))
optimizer = torch.optim.Adam(model.parameters())
schedule = torch.optim.lr_scheduler.OneCycleLR(
    optimizer, max_lr=4e-3, total_steps=EPOCHS * len(train_loader)
)


def train_epoch():
    model.train()
    losses = []
    for images, labels in train_loader:
        images, labels = augment(images.to(device)), labels.to(device)
        optimizer.zero_grad()
        loss = cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.detach())
    return torch.stack(losses).mean().item()


@torch.inference_mode()
def predict(loader):
    model.eval()
    return torch.cat([model(images.to(device)).softmax(dim=1).cpu() for images, _ in loader])


def accuracy(loader):
    labels = torch.cat([labels for _, labels in loader])
    return (predict(loader).argmax(dim=1) == labels).float().mean().item()


losses, validation_accuracies = [], []
with SummaryWriter(f"logs/{datetime.now():%Y-%m-%d_%H.%M.%S}") as log:
    for epoch in range(1, EPOCHS + 1):
        losses.append(train_epoch())
        validation_accuracies.append(accuracy(validation_loader))
        log.add_scalar("loss", losses[-1], epoch)
        log.add_scalar("validation accuracy", validation_accuracies[-1], epoch)
        print(
            f"Epoch {epoch}  loss {losses[-1]:.3f}  "
            f"validation accuracy {validation_accuracies[-1]:.4f}",
            flush=True,
        )

# %% [markdown]
# Each run has its own folder below `logs`. Select `logs` in the file browser and press the
# TensorBoard button; that works during the training, too.

# %%
draw_curves({"validation": validation_accuracies})

# %% [markdown]
# ## How well it reads
#
# Now, once, the test images. Below are those that were misread, the most confident mistakes first:
# some are hard for people too.

# %% tags=["gallery"]
print(f"Test accuracy: {accuracy(test_loader):.4f}")
test_images, test_labels = (tensor.numpy() for tensor in test.tensors)
probabilities = predict(test_loader)
draw_mistakes(test_images.transpose(0, 2, 3, 1), test_labels, probabilities.numpy())

# %% [markdown]
# ## Save the network
#
# Only the weights are saved. To load them, create the network with the same layers, then give it
# the weights; `map_location` loads what a GPU saved on a machine without one.

# %%
torch.save(model.state_dict(), "digits.pt")
model.load_state_dict(torch.load("digits.pt", map_location=device))
print(f"Loaded again, it predicts the same: {torch.equal(predict(test_loader), probabilities)}")

# %% [markdown]
# **Next:** [all GPUs of the session, and over nodes](../../templates/pytorch/distributed.ipynb),
# [half precision](../../templates/pytorch/mixed_precision.ipynb).
