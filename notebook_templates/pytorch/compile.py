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
# # Does torch.compile pay for your training?
#
# Compiles the step of a training, measures how long that takes and how much faster each step is,
# and says after how many steps it has paid. Then what keeps a model from being compiled as a whole,
# and what makes PyTorch compile again.
#
# | | |
# |---|---|
# | **Data** | 10,000 digits of MNIST |
# | **Time** | one and a half minutes on 2 cores |
# | **Devices** | one GPU of the session; its cores if the GPUs are simulated |

# %%
import logging
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

# What an earlier run has compiled would be found again, and the times would be those of a search.
os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp(prefix="compile-")

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

sys.path += [str(Path("../shared").resolve()), str(Path.home() / "templates/shared")]
from lesson import digits_path

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
# PyTorch writes C++ or Triton and has it compiled.
logging.getLogger("torch.utils.cpp_extension").setLevel(logging.ERROR)  # misses CUDA without a GPU
backend = "inductor" if shutil.which("g++") else "eager"
if backend == "eager":
    print("This node has no g++: what follows runs, but nothing becomes faster.")

with np.load(digits_path()) as file:
    pixels, labels = file["x"], file["y"]
images = torch.from_numpy(pixels).float().div(255).flatten(1).to(device)
targets = torch.from_numpy(labels).long().to(device)
N_TRAINING, BATCH_SIZE = 8_000, 500

# %% [markdown]
# ## The model
#
# Between its two matrices, the activation is six operations. As PyTorch runs them, each reads all
# values from memory and writes them back. Compiled, they become one.


# %%
def activation(x):
    return x * torch.sigmoid(1.7 * x) + 0.1 * torch.tanh(x)


class Net(nn.Module):
    def __init__(self, width=2_048):
        super().__init__()
        self.first, self.last = nn.Linear(784, width), nn.Linear(width, 10)
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.last(self.scale * activation(self.first(x)))


def make_step(compile_it):
    torch.manual_seed(1)
    model = Net().to(device)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    run = torch.compile(model, backend=backend) if compile_it else model

    def step(first):
        optimizer.zero_grad()
        rows = slice(first, first + BATCH_SIZE)
        loss = cross_entropy(run(images[rows]), targets[rows])
        loss.backward()
        optimizer.step()
        return loss.item()  # also waits for the GPU, so that times are whole

    return model, step


# %% [markdown]
# ## The first step, and those after it
#
# The first step of the compiled model compiles it, forwards and backwards. After that, both take
# turns, so that whatever else runs on the node slows both.

# %%
steps, firsts, models = {}, {}, {}
for name in ("as it is", "compiled"):
    models[name], step = make_step(name == "compiled")
    began = time.perf_counter()
    step(0)
    firsts[name] = time.perf_counter() - began
    steps[name] = step
print(", ".join(f"first step {name}: {s:.1f} s" for name, s in firsts.items()))

# %% tags=["gallery"]
times_s, losses = {name: [] for name in steps}, {name: [] for name in steps}
for _ in range(4):
    for first in range(0, N_TRAINING, BATCH_SIZE):
        for name, step in steps.items():
            began = time.perf_counter()
            losses[name].append(step(first))
            times_s[name].append(time.perf_counter() - began)
medians = {name: float(np.median(times)) for name, times in times_s.items()}

_, axis = plt.subplots(figsize=(7, 2.6), layout="constrained")
n_steps = np.arange(1, 4_001)
for (name, median), colour in zip(medians.items(), ("#9aa5b1", "#0b6bcb"), strict=True):
    axis.plot(n_steps, firsts[name] + (n_steps - 1) * median, color=colour, label=name)
axis.set(xlabel="steps", ylabel="seconds", xlim=(0, None), ylim=(0, None))
axis.legend(frameon=False)
axis.spines[["top", "right"]].set_visible(False)

# %%
for name, median in medians.items():
    print(f"{name:9} {1e3 * median:7.1f} ms a step, {BATCH_SIZE / median:9,.0f} images/s")
ratio = medians["as it is"] / medians["compiled"]
print(f"Compiled, a step is {ratio:.2f} times as fast.")
saved = medians["as it is"] - medians["compiled"]
if saved > 0:
    pays = (firsts["compiled"] - firsts["as it is"]) / saved
    print(f"It has paid after {max(pays, 0):,.0f} steps.")
else:
    print("It does not pay for this model on this device.")
apart = max(abs(a - b) for a, b in zip(losses["as it is"], losses["compiled"], strict=True))
print(f"Largest difference of a loss: {apart:.1e}")
trained = models["compiled"]
with torch.inference_mode():
    read = trained(images[N_TRAINING:]).argmax(1)
print(f"Test accuracy: {(read == targets[N_TRAINING:]).float().mean().item():.4f}")

# %% [markdown]
# The compiled model shares its weights with the one that it was made of: save and test that one.
#
# ## What it cannot compile as a whole
#
# Where Python decides by the value of a tensor, PyTorch compiles what is before and what is after,
# and lets Python decide in between: a *graph break*. `explain` counts them and says why.


# %%
def clipped_by_python(x):
    y = activation(x)
    if y.abs().max() > 1:
        y = y / y.abs().max()
    return y.sum()


def clipped_by_torch(x):
    y = activation(x)
    most = y.abs().max()
    return torch.where(most > 1, y / most, y).sum()


x = torch.randn(100, 100, device=device)
for function in (clipped_by_python, clipped_by_torch):
    torch._dynamo.reset()
    found = torch._dynamo.explain(function)(x)
    print(f"{function.__name__}: {found.graph_break_count} graph breaks")

# %% [markdown]
# `torch.compile(model, fullgraph=True)` refuses to break, and names the line.
#
# ## What makes it compile again
#
# A compiled model belongs to the shapes that it has seen. For the second size of a batch PyTorch
# compiles once more, then for any size. Here a backend counts and compiles nothing.


# %%
def count_compilations(**options):
    torch._dynamo.reset()
    seen = []

    def counting(graph, _):
        seen.append(graph)
        return graph.forward

    model = torch.compile(activation, backend=counting, **options)
    for size in (64, 64, 48, 17):
        model(torch.randn(size, 8))
    return len(seen)


print(f"sizes 64, 64, 48, 17: compiled {count_compilations()} times")
print(f"with dynamic=True: {count_compilations(dynamic=True)} time")

# %% [markdown]
# ## For your own training
#
# * Compile the model, not the loop. Time steps without the first ones.
# * A training of a few minutes seldom pays for it. One of hours does, if a step becomes faster.
# * `drop_last=True` in the DataLoader keeps the last, smaller batch from compiling again.
# * [The profiler](../../templates/pytorch/profile.ipynb) says first whether the model is what takes
#   the time; [16 bits](../../templates/pytorch/mixed_precision.ipynb) go together with it.
