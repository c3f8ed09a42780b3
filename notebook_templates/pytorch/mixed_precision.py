# ---
# jupyter:
#   kernelspec:
#     display_name: PyTorch
#     language: python
#     name: pytorch
#   portal:
#     packages: [matplotlib, numpy, torch]
# ---
# ruff: noqa: D100, D103

# %% [markdown]
# # Half precision in PyTorch: speed and accuracy side by side
#
# Trains the same network twice from the same weights on the same images: once with numbers of 32
# bits (FP32), once with *automatic mixed precision*. Then it does the same with a larger network,
# and says what stays at 32 bits and why.
#
# | | |
# |---|---|
# | **Data** | 10,000 real digits of MNIST in `isilon`: 8,000 for training, 2,000 for testing |
# | **Time** | about one minute on 2 cores, seconds on a GPU |
# | **Devices** | one GPU of the session; its cores if the GPUs are simulated |
#
# Choose *Run*, *Restart Kernel and Run All Cells*.

# %%
import sys
import time
from pathlib import Path

sys.path.append("../shared")

import matplotlib.pyplot as plt
import torch
from digits_data import load_digits
from digits_torch import (
    accuracy,
    choose_device,
    describe_devices,
    make_model,
    move_and_turn,
    to_tensors,
)
from torch import nn
from torch.nn.functional import cross_entropy
from torch.optim.lr_scheduler import OneCycleLR

print(describe_devices())
device = choose_device()

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
def choose_precision():
    if device.type == "cpu" or torch.cuda.is_bf16_supported():
        return torch.bfloat16
    return torch.float16


def has_instructions():
    if device.type == "cuda":
        return True
    flags = Path("/proc/cpuinfo").read_text()
    return "avx512_bf16" in flags or "amx_bf16" in flags


half = choose_precision()
NAMES = {torch.float32: "FP32", torch.bfloat16: "BF16", torch.float16: "FP16"}
print(f"Compared with FP32: {NAMES[half]}.")
if not has_instructions():
    print("These cores have no instructions for it: expect it to be slow, on few images.")

# %% [markdown]
# ## What autocast does
#
# Within `torch.autocast`, convolutions and matrix products are computed with 16 bits; sums, softmax
# and the loss stay at 32. The weights stay at 32 bits everywhere: a small step of the learning rate
# would be lost in 16. `GradScaler` is needed only for FP16; switched off it does nothing, so that
# one loop works for all formats.


# %%
def train(make, images, labels, *, precision, epochs, batch_size, seed=1):
    torch.manual_seed(seed)
    model = make().to(device)
    optimizer = torch.optim.Adam(model.parameters())
    n_steps = epochs * (len(images) // batch_size)
    schedule = OneCycleLR(optimizer, max_lr=4e-3, total_steps=n_steps)
    scaler = torch.amp.GradScaler(device.type, enabled=precision is torch.float16)
    losses, began = [], time.perf_counter()
    for _ in range(epochs):
        for batch in torch.randperm(len(images), device=device).split(batch_size):
            if len(batch) < batch_size:
                continue
            optimizer.zero_grad()
            with torch.autocast(device.type, precision, enabled=precision is not torch.float32):
                loss = cross_entropy(model(move_and_turn(images[batch])), labels[batch])
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            schedule.step()
            losses.append(loss.item())
    seconds = time.perf_counter() - began
    return model, losses, n_steps * batch_size / seconds


# %% [markdown]
# ## The digits, in both formats

# %%
digits = load_digits()
images, labels = to_tensors(digits.train_images, digits.train_labels)
test = to_tensors(digits.test_images, digits.test_labels)
n_images = len(images) if has_instructions() else 2048
results = {}
for precision in (torch.float32, half):
    model, losses, rate = train(
        make_model,
        images[:n_images],
        labels[:n_images],
        precision=precision,
        epochs=3,
        batch_size=32,
    )
    results[NAMES[precision]] = {
        "losses": losses,
        "images/s": rate,
        "accuracy": accuracy(model, *test),
    }

# %% [markdown]
# ## A larger network
#
# Half precision pays if most of the time is spent on large matrix products: the network above
# leaves a GPU waiting for work most of the time. Here is a wide network with about ten times as
# many multiplications per image, only to measure speed.


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


n_images = 128 if device.type == "cpu" else len(images)
for precision in (torch.float32, half):
    _, _, rate = train(
        make_wide_model,
        images[:n_images],
        labels[:n_images],
        precision=precision,
        epochs=2,
        batch_size=64,
    )
    results[NAMES[precision]]["images/s, wide"] = rate

# %% [markdown]
# ## Side by side

# %% tags=["gallery"]
COLOURS = ("#9aa5b1", "#0b6bcb")


def smooth(values, n=20):
    windows = (values[max(0, i - n) : i + 1] for i in range(len(values)))
    return [sum(window) / len(window) for window in windows]


def draw(results):
    _, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
    for (name, result), colour in zip(results.items(), COLOURS, strict=True):
        axes[0].plot(smooth(result["losses"]), color=colour, label=name)
    axes[0].set(title="loss", xlabel="step", yscale="log")
    axes[0].legend(frameon=False)
    names = list(results)
    for axis, key, unit in (
        (axes[1], "images/s", "digits: images/s"),
        (axes[2], "images/s, wide", "wide network: images/s"),
    ):
        bars = axis.bar(names, [results[name][key] for name in names], color=COLOURS, width=0.6)
        axis.bar_label(bars, fmt="{:,.0f}", padding=2)
        axis.set(title=unit, yticks=[])
        axis.margins(y=0.15)
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)


draw(results)

# %%
print("            test accuracy   images/s   images/s, wide network")
for name, result in results.items():
    print(
        f"{name:>10}  {result['accuracy']:13.4f}  {result['images/s']:9,.0f}"
        f"  {result['images/s, wide']:22,.0f}"
    )
full, mixed = results["FP32"], results[NAMES[half]]
ratio = mixed["images/s, wide"] / full["images/s, wide"]
print(f"{NAMES[half]} is {ratio:.2f} times as fast as FP32 on the wide network.")
print(f"Figure: accuracy = {mixed['accuracy']:.4f}")

# %% [markdown]
# ## Summary
#
# * Three lines change a loop: `autocast` around model and loss, `GradScaler` for FP16.
# * Never call `model.half()` for training: the weights then lose small steps.
# * Clip gradients after `scaler.unscale_(optimizer)`; before it they are scaled.
# * Compare the accuracy of both, as here, once for each new network.
# * On processors without instructions for BF16, FP32 is faster.
