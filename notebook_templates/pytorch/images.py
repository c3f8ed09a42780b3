# ---
# jupyter:
#   kernelspec:
#     display_name: PyTorch
#     language: python
#     name: pytorch
#   portal:
#     packages: [matplotlib, numpy, pillow, torch, torchvision]
# ---
# ruff: noqa: D100, D103

# %% [markdown]
# # Your own images: a folder, a DataLoader, augmentation
#
# Trains a network on a folder with one folder of images for each class. `DataLoader` reads, decodes
# and augments them in processes of their own while the network trains.
#
# | | |
# |---|---|
# | **Data** | 1,500 JPEG files of 64 x 64, made here from digits of MNIST; then your own |
# | **Time** | 15 seconds on 2 cores |
# | **Devices** | one GPU of the session; its cores if the GPUs are simulated |

# %%
import os
import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Subset
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

sys.path += [str(Path("../shared").resolve()), str(Path.home() / "templates/shared")]
from lesson import digits_path, draw_curves

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
if device.type == "cpu":
    torch.set_num_threads(1)  # leaves the other cores to the processes that read the images

# %% [markdown]
# ## The folder
#
#     images/
#         seven/    0001.jpg  0002.jpg  ...
#         eight/    0001.jpg  ...
#
# The names of the folders are the classes. This cell makes such a folder. For your own, drop a
# folder such as `pictures` into the file browser beside this notebook, and put
# `IMAGES = Path("pictures")` in place of the cell.

# %%
IMAGES = Path("images")
NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")

with np.load(digits_path()) as file:
    chosen = np.random.default_rng(1).permutation(len(file["x"]))[:1_500]
    for number, (pixels, label) in enumerate(
        zip(file["x"][chosen], file["y"][chosen], strict=True)
    ):
        path = IMAGES / NAMES[label] / f"{number:04}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(255 - pixels).resize((64, 64)).convert("RGB").save(path)

# %% [markdown]
# ## Two ways to prepare an image
#
# For training, each image is changed a little each time that it is read, in ways that do not change
# what it shows. Think about your own: a mirrored 3 is no 3, but a mirrored cat is a cat. For
# validation and test nothing is random.

# %%
to_tensor = [
    v2.Resize((32, 32)),
    v2.ToImage(),
    v2.ToDtype(torch.float32, scale=True),
    v2.Normalize([0.5] * 3, [0.5] * 3),
]
augmentation = v2.Compose(
    [
        v2.RandomAffine(degrees=12, translate=(0.08, 0.08), scale=(0.9, 1.1), fill=255),
        v2.ColorJitter(brightness=0.3, contrast=0.3),
        *to_tensor,
    ]
)
plain = v2.Compose(to_tensor)

# %% [markdown]
# ## Three parts
#
# The same folder is opened twice, with and without augmentation. If several of your images show the
# same thing (frames of a video, pictures of one patient), keep them in one part, or the validation
# images are not new to the network.

# %%
augmented, unchanged = ImageFolder(IMAGES, augmentation), ImageFolder(IMAGES, plain)
order = torch.randperm(len(unchanged), generator=torch.Generator().manual_seed(1)).tolist()
n_training, n_validation = int(0.7 * len(order)), int(0.15 * len(order))

train = Subset(augmented, order[:n_training])
validation = Subset(unchanged, order[n_training : n_training + n_validation])
test = Subset(unchanged, order[n_training + n_validation :])
print(f"{len(train):,} to train, {len(validation):,} to validate, {len(test):,} to test")
print("Classes:", ", ".join(unchanged.classes))

# %% [markdown]
# ## The DataLoader
#
# | option | why |
# |---|---|
# | `num_workers` | processes that read and decode: one for each core of the session |
# | `persistent_workers` | they stay from epoch to epoch, instead of starting again |
# | `pin_memory` | copies to a GPU are faster, and run beside the computation |
# | `shuffle`, `drop_last` | another order in each epoch, only whole batches: for training |

# %%
N_WORKERS = min(len(os.sched_getaffinity(0)), 8)
OPTIONS = {
    "batch_size": 32,
    "num_workers": N_WORKERS,
    "persistent_workers": True,
    "pin_memory": device.type == "cuda",
}

torch.manual_seed(1)
train_loader = DataLoader(train, shuffle=True, drop_last=True, **OPTIONS)
validation_loader = DataLoader(validation, **OPTIONS)
test_loader = DataLoader(test, **OPTIONS)

# %% [markdown]
# The same image eight times, as the network meets it:

# %%
_, axes = plt.subplots(1, 8, figsize=(9, 1.4), layout="constrained")
for axis in axes:
    image, label = train[0]
    axis.imshow(image.permute(1, 2, 0) / 2 + 0.5)
    axis.set_title(unchanged.classes[label], fontsize=9)
    axis.set_axis_off()

# %% [markdown]
# ## The network and its training
#
# `AdaptiveAvgPool2d` makes the output of the convolutions 2 x 2, whatever the size of the images.

# %%
EPOCHS = 8


def block(n_in, n_out):
    return [nn.Conv2d(n_in, n_out, 3, padding=1), nn.BatchNorm2d(n_out), nn.ReLU(), nn.MaxPool2d(2)]


model = nn.Sequential(
    *block(3, 16),
    *block(16, 32),
    *block(32, 64),
    nn.AdaptiveAvgPool2d(2),
    nn.Flatten(),
    nn.Dropout(0.2),
    nn.Linear(64 * 4, len(unchanged.classes)),
).to(device)
optimizer = torch.optim.AdamW(model.parameters())
schedule = torch.optim.lr_scheduler.OneCycleLR(
    optimizer, max_lr=1e-2, total_steps=EPOCHS * len(train_loader)
)


@torch.inference_mode()
def accuracy(loader):
    model.eval()
    right = [(model(x.to(device)).argmax(dim=1).cpu() == y).float() for x, y in loader]
    return torch.cat(right).mean().item()


validation_accuracies = []
for epoch in range(1, EPOCHS + 1):
    model.train()
    began, waited = time.perf_counter(), 0.0
    asked = time.perf_counter()
    for images, labels in train_loader:
        waited += time.perf_counter() - asked
        optimizer.zero_grad()
        loss = cross_entropy(model(images.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        schedule.step()
        asked = time.perf_counter()
    seconds = time.perf_counter() - began
    validation_accuracies.append(accuracy(validation_loader))
    print(
        f"Epoch {epoch}  validation accuracy {validation_accuracies[-1]:.4f}  "
        f"{len(train) / seconds:,.0f} images/s, {waited / seconds:.0%} of it waiting for images",
        flush=True,
    )

# %% [markdown]
# If most of the time goes into waiting for images, a faster GPU does not help: use more cores,
# smaller files, or [shards](../../templates/data/storage.ipynb).

# %%
draw_curves({"validation": validation_accuracies})

# %% [markdown]
# ## The test images

# %% tags=["gallery"]
print(f"Test accuracy: {accuracy(test_loader):.4f}")
images, labels = next(iter(test_loader))
with torch.inference_mode():
    predicted = model(images.to(device)).argmax(dim=1).cpu()
_, axes = plt.subplots(2, 10, figsize=(9, 2.4), layout="constrained")
for axis, image, label, guess in zip(axes.flat, images, labels, predicted, strict=False):
    axis.imshow(image.permute(1, 2, 0) / 2 + 0.5)
    colour = "#c0362c" if guess != label else "black"
    axis.set_title(unchanged.classes[guess], fontsize=9, color=colour)
    axis.set_axis_off()

# %% [markdown]
# **With few images of your own**, begin with a network that others have trained: `import
# torchvision`, `model = torchvision.models.resnet18(weights="DEFAULT")`, then replace the last
# layer, `model.fc = nn.Linear(512, len(classes))`, and train with a small rate. The weights are
# downloaded once, if your site lets the nodes reach the internet.
#
# **Next:** [why is my step slow?](../../templates/pytorch/profile.ipynb),
# [all GPUs of the session](../../templates/pytorch/distributed.ipynb).
