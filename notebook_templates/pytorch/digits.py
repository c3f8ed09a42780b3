# ---
# jupyter:
#   kernelspec:
#     display_name: PyTorch
#     language: python
#     name: pytorch
#   portal:
#     packages: [matplotlib, numpy, tensorboard, torch]
# ---
# ruff: noqa: D100

# %% [markdown]
# # Handwritten digits with PyTorch
#
# Trains a small convolutional network to read handwritten digits, in an explicit training loop,
# shows how well it reads, saves the network and writes logs for TensorBoard.
#
# | | |
# |---|---|
# | **Data** | 10,000 real digits of MNIST in `isilon`: 8,000 for training, 2,000 for testing |
# | **Time** | about half a minute on 2 cores, seconds on a GPU |
# | **Devices** | one GPU of the session; its cores if the GPUs are simulated |
#
# Choose *Run*, *Restart Kernel and Run All Cells*. To train on all GPUs of the session or on
# several nodes, see `templates/pytorch/distributed.ipynb`; in half precision,
# `templates/pytorch/mixed_precision.ipynb`.

# %%
import sys
from datetime import datetime
from pathlib import Path

sys.path.append("../shared")

import torch
from digits_data import load_digits
from digits_pictures import draw_curves, draw_digits, draw_misread
from digits_torch import (
    AccuracyReport,
    choose_device,
    describe_devices,
    make_model,
    move_and_turn,
    read_digits,
    to_tensors,
)
from torch.nn.functional import cross_entropy
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.tensorboard import SummaryWriter

print(describe_devices())

# %% [markdown]
# ## The data
#
# Images of 28 x 28 grey values, from 0 (paper) to 1 (ink). They are small, so all of them are
# loaded into the GPU's memory once; the test images are not used for training.

# %%
digits = load_digits()
print(f"{len(digits.train_images):,} digits for training, {len(digits.test_images):,} for testing")
images, labels = to_tensors(digits.train_images, digits.train_labels)
test_images, test_labels = to_tensors(digits.test_images, digits.test_labels)
draw_digits(digits.train_images, digits.train_labels)

# %% [markdown]
# ## The network
#
# Two convolutions and a dense layer, in `templates/shared/digits_torch.py`.

# %%
torch.manual_seed(1)
model = make_model().to(choose_device())
n_weights = sum(parameter.numel() for parameter in model.parameters())
print(model)
print(f"{n_weights:,} weights")

# %% [markdown]
# ## Training
#
# Each image is shifted and rotated a little, so that the network sees more handwritings than there
# are. The learning rate rises and then falls to zero within one cycle.
#
# Every 100 steps: the share of digits that are read correctly, among 2,000 training images and the
# 2,000 test images. Each run has its own folder below `logs`. Select `logs` in the file browser and
# press the TensorBoard button to watch the training while it runs.

# %%
EPOCHS = 6
BATCH_SIZE = 64

n_steps = EPOCHS * (len(images) // BATCH_SIZE)
optimizer = torch.optim.Adam(model.parameters())
schedule = OneCycleLR(optimizer, max_lr=4e-3, total_steps=n_steps)
report = AccuracyReport(digits)
log_dir = Path("logs") / f"{datetime.now():%Y-%m-%d_%H.%M.%S}"
log = SummaryWriter(log_dir)
step = 0
for epoch in range(1, EPOCHS + 1):
    for batch in torch.randperm(len(images), device=images.device).split(BATCH_SIZE):
        if len(batch) < BATCH_SIZE:
            continue
        optimizer.zero_grad()
        loss = cross_entropy(model(move_and_turn(images[batch])), labels[batch])
        loss.backward()
        optimizer.step()
        schedule.step()
        step += 1
        report.step(model, step, epoch, is_last=step == n_steps)
        log.add_scalar("loss", loss.item(), step)
    log.add_scalar("accuracy/test", report.test[-1], step)
log.close()

# %% [markdown]
# ## How well it reads

# %% tags=["gallery"]
draw_curves(report.steps, report.training, report.test)

# %% [markdown]
# The test digits that were read wrongly, the most confident mistakes first: some are hard for
# people too.

# %%
draw_misread(digits.test_images, digits.test_labels, read_digits(model, test_images))
print(f"Figure: accuracy = {report.test[-1]:.4f}")

# %% [markdown]
# ## Save the network
#
# Only the weights are saved. To load them, first create the network with the same function.

# %%
torch.save(model.state_dict(), "digits.pt")
again = make_model().to(choose_device())
again.load_state_dict(torch.load("digits.pt"))
same = bool((read_digits(again, test_images) == read_digits(model, test_images)).all())
print(f"Read back, it reads the same: {same}")
