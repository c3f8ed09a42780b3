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
# # Why is my step slow? Profile it, then mend it
#
# A training loop as people write it first, with three faults. The profiler says where the time
# goes, each fault is mended, and each mending is measured. The losses stay the same.
#
# | | |
# |---|---|
# | **Data** | 10,000 digits of MNIST |
# | **Time** | 15 seconds on 2 cores |
# | **Devices** | one GPU of the session; its cores if the GPUs are simulated |

# %%
import os
import sys
import time
from pathlib import Path

os.environ["KINETO_LOG_LEVEL"] = "99"  # keeps the profiler's own notes out of the cells

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.profiler import ProfilerActivity, profile, record_function

sys.path += [str(Path("../shared").resolve()), str(Path.home() / "templates/shared")]
from lesson import digits_path

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
if device.type == "cpu":
    torch.set_num_threads(1)  # steps this short gain nothing from threads that wait for each other

with np.load(digits_path()) as file:
    pixels, labels = file["x"], file["y"]
BATCH_SIZE, N_STEPS = 64, 60
batches = np.random.default_rng(1).integers(len(pixels), size=(N_STEPS, BATCH_SIZE))

# %% [markdown]
# ## The loop, as it was written first


# %%
def make_model():
    torch.manual_seed(1)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 5 * 5, 10),
    ).to(device)
    return model, torch.optim.SGD(model.parameters(), lr=0.05)


def input_of(batch):
    images = []
    for index in batch:
        rows = [[value / 255 for value in row] for row in pixels[index].tolist()]
        images.append(torch.tensor(rows))
    return torch.stack(images).unsqueeze(1).to(device), torch.tensor(labels[batch]).long().to(
        device
    )


def learn(model, optimizer, images, targets):
    optimizer.zero_grad()
    loss = cross_entropy(model(images), targets)
    loss.backward()
    optimizer.step()
    return loss


def first_loop(n_steps=N_STEPS):
    model, optimizer = make_model()
    losses = []
    for batch in batches[:n_steps]:
        with record_function("1 input"):
            images, targets = input_of(batch)
        with record_function("2 learning"):
            loss = learn(model, optimizer, images, targets)
        with record_function("3 watching"):
            losses.append(loss.item())
            norm = sum(p.grad.norm().item() for p in model.parameters())
            weights = {name: p.detach().cpu().clone() for name, p in model.state_dict().items()}
    return losses, norm, weights


# %% [markdown]
# ## Profile it
#
# `record_function` gives a part of the step a name; the profiler adds up what happens in each.
# Profile a few steps only, after some that are not profiled, in which the device warms up.

# %%
ACTIVITIES = [ProfilerActivity.CPU]
if device.type == "cuda":
    ACTIVITIES.append(ProfilerActivity.CUDA)


def parts_of(loop):
    loop(5)
    with profile(activities=ACTIVITIES) as found:
        loop(20)
    events = {event.key: event.cpu_time_total / 20e3 for event in found.key_averages()}
    return found, {
        name: ms for name, ms in sorted(events.items()) if name[:2] in {"1 ", "2 ", "3 "}
    }


found, before = parts_of(first_loop)
for name, ms in before.items():
    print(f"{name:12} {ms:7.2f} ms a step, {ms / sum(before.values()):4.0%}")

# %% [markdown]
# The same by operation: what the ten most expensive ones take. Times with "self" do not contain
# the operations that an operation calls.

# %%
print(
    found.key_averages().table(
        sort_by="self_cpu_time_total", row_limit=10, max_name_column_width=32
    )
)

# %% [markdown]
# ## Mend it
#
# | fault, in each step | instead |
# |---|---|
# | Python touches each pixel of each image | convert all images once, then take rows of them |
# | `loss.item()` makes Python wait for the GPU | keep the tensor, read all of them at the end |
# | norms, and a copy of the weights | every so many steps, as often as you look at them |
#
# If the images do not fit into memory, a `DataLoader` with workers
# [prepares them beside the training](../../templates/pytorch/images.ipynb).

# %%
all_images = torch.from_numpy(pixels).unsqueeze(1).float().div(255).to(device)
all_labels = torch.from_numpy(labels).long().to(device)
rows = torch.from_numpy(batches).to(device)


def mended_loop(n_steps=N_STEPS):
    model, optimizer = make_model()
    losses = []
    for step, batch in enumerate(rows[:n_steps]):
        with record_function("1 input"):
            images, targets = all_images[batch], all_labels[batch]
        with record_function("2 learning"):
            loss = learn(model, optimizer, images, targets)
        with record_function("3 watching"):
            losses.append(loss.detach())
            if step % 20 == 0:
                norm = sum(p.grad.norm() for p in model.parameters())
    return torch.stack(losses).tolist(), norm, model.state_dict()


_, after = parts_of(mended_loop)
for name, ms in after.items():
    print(f"{name:12} {ms:7.2f} ms a step, {ms / sum(after.values()):4.0%}")

# %% [markdown]
# ## Measure the whole, without the profiler
#
# The profiler itself takes time. So the result is measured without it, in turns.

# %%
seconds = {"first": [], "mended": []}
for _ in range(3):
    for name, loop in (("first", first_loop), ("mended", mended_loop)):
        began = time.perf_counter()
        losses, _, _ = loop()
        seconds[name].append(time.perf_counter() - began)
first, mended = (N_STEPS * BATCH_SIZE / np.median(seconds[name]) for name in ("first", "mended"))
print(f"first loop {first:,.0f} images/s, mended {mended:,.0f} images/s:", end=" ")
print(f"{mended / first:.1f} times as fast")

apart = max(abs(a - b) for a, b in zip(first_loop()[0], mended_loop()[0], strict=True))
print(f"Largest difference of a loss: {apart:.1e}")

# %% tags=["gallery"]
_, axis = plt.subplots(figsize=(7, 2.2), layout="constrained")
left = np.zeros(2)
for part, colour in zip(before, ("#e07b00", "#0b6bcb", "#9aa5b1"), strict=True):
    ms = np.array([before[part], after[part]])
    axis.barh(["first", "mended"], ms, left=left, color=colour, label=part[2:])
    left += ms
axis.invert_yaxis()
axis.set(xlabel="ms a step, in the profiler")
axis.legend(frameon=False)
axis.spines[["top", "right"]].set_visible(False)

# %% [markdown]
# ## What to look for in your own step
#
# * **Input on top**: more workers, smaller images, [shards](../../templates/data/storage.ipynb).
# * **Learning on top, and the GPU busy**: that is as it should be. Larger batches and
#   [16 bits](../../templates/pytorch/mixed_precision.ipynb) make it faster.
# * **Many tiny operations** on a GPU that waits: `torch.compile(model)` joins them.
# * **`aten::item`, `aten::_local_scalar_dense`, `cudaStreamSynchronize`**: Python waits for the
#   GPU.
# * **`aten::copy_`**: data travel; make tensors on the device, and pin memory in the DataLoader.
#
# `found.export_chrome_trace("trace.json")` writes a time line that https://ui.perfetto.dev shows.
