# ---
# jupyter:
#   kernelspec:
#     display_name: PyTorch
#     language: python
#     name: pytorch
#   portal:
#     packages: [matplotlib, numpy, torch]
# ---
# ruff: noqa: D100, D101, D102, D103

# %% [markdown]
# # Half precision in PyTorch: speed and accuracy side by side
#
# Trains the same network twice from the same weights on the same images: once with numbers of 32
# bits (FP32), once with *automatic mixed precision*. Then it measures a larger network, for which
# half precision is made, and says what stays at 32 bits and why.
#
# | | |
# |---|---|
# | **Data** | 10,000 digits of MNIST: 7,000 to train, 2,000 to test |
# | **Time** | half a minute on 2 cores, seconds on a GPU |
# | **Devices** | one GPU of the session; its cores if the GPUs are simulated |
#
# Choose *Run*, *Restart Kernel and Run All Cells*.

# %%
import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

sys.path += [str(Path("../shared").resolve()), str(Path.home() / "templates/shared")]
from lesson import digits_path

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
if device.type == "cpu":
    torch.set_num_threads(1)  # steps this short gain nothing from threads that wait for each other

# %% [markdown]
# ## Which 16 bits?
#
# | | bits of the exponent | bits of the fraction | |
# |---|---|---|---|
# | FP32 | 8 | 23 | |
# | FP16 | 5 | 10 | small gradients become zero: the loss is scaled up first, by `GradScaler` |
# | BF16 | 8 | 7 | the range of FP32, so no scaling; less precise |
#
# GPUs from Ampere on (A100, H100) and many processors compute in BF16; older GPUs (V100, T4) have
# FP16 only. Processors without BF16 instructions compute it through FP32, which is slower.

# %%
flags = Path("/proc/cpuinfo").read_text()
has_instructions = device.type == "cuda" or "avx512_bf16" in flags or "amx_bf16" in flags
is_bf16 = device.type == "cpu" or torch.cuda.is_bf16_supported()
HALF, NAME = (torch.bfloat16, "BF16") if is_bf16 else (torch.float16, "FP16")
print(f"Trains on {device.type}, in FP32 and {NAME}.")
if not has_instructions:
    print("These cores have no instructions for BF16: expect it to be slow, on few images.")

# %% [markdown]
# ## What autocast does
#
# Within `torch.autocast`, convolutions and matrix products are computed with 16 bits; sums, softmax
# and the loss stay at 32. The weights stay at 32 bits everywhere: a small step of the learning rate
# would be lost in 16. `GradScaler` is needed only for FP16; switched off it does nothing, so that
# one loop works for all formats.

# %%
BATCH_SIZE = 64

with np.load(digits_path()) as file:
    images, labels = file["x"], file["y"]
order = np.random.default_rng(1).permutation(len(images))
images = torch.from_numpy(images[order]).unsqueeze(1).float().div(255).to(device)
labels = torch.from_numpy(labels[order]).long().to(device)
n_training = 7_000 if has_instructions else 2_000
train_images, train_labels = images[:n_training], labels[:n_training]
test_images, test_labels = images[8_000:], labels[8_000:]


def make_small_model():
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


class Training:
    def __init__(self, make_model, precision):
        torch.manual_seed(1)
        self.model = make_model().to(device)
        self.precision = precision
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3)
        self.scaler = torch.amp.GradScaler(device.type, enabled=precision is torch.float16)

    def step(self, images, labels):
        self.optimizer.zero_grad()
        is_mixed = self.precision is not torch.float32
        with torch.autocast(device.type, self.precision, enabled=is_mixed):
            loss = cross_entropy(self.model(images), labels)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.detach()

    def train(self, epochs):
        losses = []
        self.model.train()
        for _ in range(epochs):
            order = torch.randperm(len(train_images), device=device)
            for batch in order.split(BATCH_SIZE)[:-1]:
                losses.append(self.step(train_images[batch], train_labels[batch]))
        return torch.stack(losses).cpu()

    @torch.inference_mode()
    def accuracy(self):
        self.model.eval()
        return (self.model(test_images).argmax(dim=1) == test_labels).float().mean().item()


PRECISIONS = {"FP32": torch.float32, NAME: HALF}
losses, accuracies = {}, {}
for name, precision in PRECISIONS.items():
    training = Training(make_small_model, precision)
    losses[name] = training.train(epochs=3)
    accuracies[name] = training.accuracy()
    print(f"{name}  accuracy {accuracies[name]:.4f}", flush=True)

# %% [markdown]
# ## Speed
#
# Half precision pays if most of the time is spent on large matrix products: the small network
# leaves a GPU waiting for work most of the time. The wide one has many more multiplications per
# image.
#
# To be fair, each training makes some steps first that are not timed, since the device compiles and
# warms up in them. Then both precisions take turns, so that whatever else runs here slows both, and
# the result is the median of the turns.


# %%
def make_wide_model():
    return nn.Sequential(
        nn.Conv2d(1, 64, 3),
        nn.ReLU(),
        nn.Conv2d(64, 128, 3, stride=2),
        nn.ReLU(),
        nn.Conv2d(128, 128, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(128 * 10 * 10, 10),
    )


def turn(training, n_steps):
    began = time.perf_counter()
    for _ in range(n_steps):
        loss = training.step(train_images[:BATCH_SIZE], train_labels[:BATCH_SIZE])
    loss.item()  # waits for the GPU
    return n_steps * BATCH_SIZE / (time.perf_counter() - began)


def compare(make_model, n_steps, n_turns=7):
    trainings = {name: Training(make_model, each) for name, each in PRECISIONS.items()}
    for training in trainings.values():
        turn(training, n_steps)  # not timed
    rates = {name: [] for name in trainings}
    for _ in range(n_turns):
        for name, training in trainings.items():
            rates[name].append(turn(training, n_steps))
    return rates


N_STEPS = {"small network": (make_small_model, 20), "wide network": (make_wide_model, 3)}
if device.type == "cuda":
    N_STEPS = {name: (make, 100) for name, (make, _) in N_STEPS.items()}
speeds = {name: compare(make, n_steps) for name, (make, n_steps) in N_STEPS.items()}

# %% tags=["gallery"]
_, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
for (name, values), colour in zip(losses.items(), ("#9aa5b1", "#0b6bcb"), strict=True):
    mean = np.convolve(values, np.full(20, 1 / 20), mode="valid")
    axes[0].plot(mean, color=colour, label=name)
axes[0].set(title="loss, mean of 20 steps", xlabel="step", yscale="log")
axes[0].legend(frameon=False)
for axis, (network, rates) in zip(axes[1:], speeds.items(), strict=True):
    medians = [np.median(values) for values in rates.values()]
    bars = axis.bar(list(rates), medians, color=["#9aa5b1", "#0b6bcb"], width=0.6)
    axis.bar_label(bars, fmt="{:,.0f}", padding=2)
    axis.set(title=f"{network}: images/s", yticks=[])
    axis.margins(y=0.15)
for axis in axes:
    axis.spines[["top", "right"]].set_visible(False)

# %%
print(f"Test accuracy: {accuracies[NAME]:.4f}, in FP32 {accuracies['FP32']:.4f}")
for network, rates in speeds.items():
    turns = [half / full for full, half in zip(rates["FP32"], rates[NAME], strict=True)]
    print(
        f"{network}: {NAME} is {np.median(turns):.2f} times as fast as FP32 "
        f"(from {min(turns):.2f} to {max(turns):.2f} in single turns)."
    )

# %% [markdown]
# ## Summary
#
# * Three lines change a loop: `autocast` around model and loss, `GradScaler` for FP16.
# * Never call `model.half()` for training: the weights then lose small steps.
# * Clip gradients after `scaler.unscale_(optimizer)`; before it they are scaled.
# * Compare the accuracy of both, as here, once for each new network.
# * Measure before you believe: on cores, half precision may be slower even if they have
#   instructions for it, since everything around the products is converted back and forth.
