# ---
# jupyter:
#   kernelspec:
#     display_name: PyTorch
#     language: python
#     name: pytorch
#   portal:
#     packages: [cloudpickle, matplotlib, numpy, pandas, torch]
# ---
# ruff: noqa: D100, D103

# %% [markdown]
# # Hyper-parameters: many trainings at a time, each on a GPU
#
# Which learning rate, width and dropout? Each *trial* is a job of its own with one GPU: as many run
# at a time as GPUs are free, and they continue without the browser. First all trials train briefly,
# then the best two train on (*successive halving*).
#
# | | |
# |---|---|
# | **Data** | 10,000 digits of MNIST: 3,000 to train, 1,000 to validate, 2,000 to test |
# | **Time** | one minute on 2 cores, and the time in the queue |
# | **Devices** | GPUs of the cluster, in addition to those of the session; cores if simulated |

# %%
import math
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

sys.path += [str(Path("../shared").resolve()), str(Path.home() / "templates/shared")]
from lesson import digits_path

from dsportal import sweep

# %% [markdown]
# ## A trial
#
# A function of the settings that returns what the search compares: the accuracy on the
# **validation** images. The test images are for the winner alone: the best of many trials on the
# test images would be too good.


# %%
def load_digits():
    with np.load(digits_path()) as file:
        images, labels = file["x"], file["y"]
    order = np.random.default_rng(1).permutation(len(images))
    images = torch.from_numpy(images[order]).unsqueeze(1).float() / 255
    labels = torch.from_numpy(labels[order]).long()
    parts = (slice(3_000), slice(7_000, 8_000), slice(8_000, None))
    return [(images[part], labels[part]) for part in parts]


def trial(rate, width, dropout, epochs):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device.type == "cpu":
        torch.set_num_threads(1)  # one core for each trial, as a GPU would be its own
    torch.manual_seed(1)
    (images, labels), validation, test = [(x.to(device), y.to(device)) for x, y in load_digits()]
    model = nn.Sequential(
        nn.Conv2d(1, width, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(width, 2 * width, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(dropout),
        nn.Linear(2 * width * 25, 10),
    ).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    for _ in range(epochs):
        model.train()
        for batch in torch.randperm(len(images), device=device).split(64):
            optimizer.zero_grad()
            cross_entropy(model(images[batch]), labels[batch]).backward()
            optimizer.step()
    model.eval()
    with torch.inference_mode():
        validation_accuracy, test_accuracy = (
            (model(x).argmax(dim=1) == y).float().mean().item() for x, y in (validation, test)
        )
    return {"validation": validation_accuracy, "test": test_accuracy}


# %% [markdown]
# ## What to try
#
# Settings are drawn by chance, which finds good ones with fewer trials than a grid (Bergstra and
# Bengio, 2012). Rates are drawn on a logarithmic scale, where 0.001 is as far from 0.01 as that is
# from 0.1.

# %%
N_TRIALS = 6

chance = np.random.default_rng(1)
candidates = [
    {
        "rate": float(10 ** chance.uniform(-4, -1)),
        "width": int(chance.choice([8, 16, 32])),
        "dropout": round(float(chance.uniform(0, 0.5)), 2),
        "epochs": 2,
    }
    for _ in range(N_TRIALS)
]

# %% [markdown]
# ## Start all trials
#
# `sweep` makes each one a job of its own, and shows how far they are. `hours` is short, since short
# jobs often start earlier. A trial that fails does not stop the others.

# %%
SHOWN = ["rate", "width", "dropout", "validation"]

first = sweep(trial, candidates, gpus=1, hours=0.25, metric="validation")
first = first.dropna(subset="validation").sort_values("validation", ascending=False)
first[SHOWN]

# %% [markdown]
# ## Train the best two longer

# %%
best_two = [
    {**each, "epochs": 6} for each in first[["rate", "width", "dropout"]][:2].to_dict("records")
]
second = sweep(trial, best_two, gpus=1, hours=0.25, metric="validation")
best = second.loc[second["validation"].idxmax()]
print(f"Best: rate {best['rate']:.5f}, width {best['width']}, dropout {best['dropout']}")
print(f"Test accuracy: {best['test']:.4f}")

# %% tags=["gallery"]
_, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
for table, colour, label in ((first, "#9aa5b1", "2 epochs"), (second, "#0b6bcb", "6 epochs")):
    errors = 1 - table["validation"]
    axis.scatter(table["rate"], errors, s=3 * table["width"], color=colour, label=label)
axis.set(xlabel="learning rate (larger dots: wider networks)", ylabel="misread in validation")
# Logarithmic, so that a trial that learned nothing does not hide what the others differ by.
axis.set(xscale="log", yscale="log")
axis.set_xticks([0.0001, 0.001, 0.01, 0.1], ["0.0001", "0.001", "0.01", "0.1"])
axis.set_yticks([0.01, 0.03, 0.1, 0.3, 1], ["1%", "3%", "10%", "30%", "100%"])
axis.minorticks_off()
axis.legend(frameon=False)
axis.spines[["top", "right"]].set_visible(False)

# %% [markdown]
# Two trials that differ by less than chance are equal: with 1,000 validation images, one standard
# error is about

# %%
p = best["validation"]
print(f"{100 * math.sqrt(p * (1 - p) / 1_000):.1f} points.")

# %% [markdown]
# ## With Optuna
#
# [Optuna](https://optuna.org) draws settings where earlier trials were good. Install it with
# `%pip install optuna`, and let it ask and tell:
#
#     study = optuna.create_study(direction="maximize")
#     for _ in range(10):
#         asked = [study.ask() for _ in range(4)]
#         points = [
#             {"rate": each.suggest_float("rate", 1e-4, 1e-1, log=True), ...} for each in asked
#         ]
#         for each, score in zip(asked, sweep(trial, points)["validation"]):
#             study.tell(each, score)
#     study.best_params
#
# This is a sketch that was not run: Optuna is not part of this kernel. A trial that calls `report`
# can be stopped early: `sweep(..., stop_worst=True)`.
#
# **Next:** [how many GPUs should one training use?](../../templates/scaling/study.ipynb)
