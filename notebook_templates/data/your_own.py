# ---
# jupyter:
#   kernelspec:
#     display_name: PyTorch
#     language: python
#     name: pytorch
#   portal:
#     packages: [matplotlib, numpy, pandas, scikit-learn, torch]
# ---
# ruff: noqa: D100, D103, E402

# %% [markdown]
# # Your own CSV and your own packages
#
# From a table in a CSV file to a trained network and a CSV file of predictions. Put your file where
# this one is, change three lines, and add the packages that you miss.
#
# | | |
# |---|---|
# | **Data** | a CSV file of 178 wines, made here from scikit-learn's; then your own |
# | **Time** | 15 seconds on 2 cores |
# | **Devices** | one GPU of the session; its cores if the GPUs are simulated |
#
# **Bring your file**: drag it from your computer into the file browser on the left. Files of many
# GB belong on the shared storage instead; copy them there with `scp` or `rsync`.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import torch
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn.functional import cross_entropy

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
if device.type == "cpu":
    torch.set_num_threads(1)  # steps this short gain nothing from threads that wait for each other

# %% [markdown]
# ## A package that is missing
#
# `%pip install` puts it into a folder of yours, where this kernel finds it in each session from now
# on; the site's own packages are not touched. It works without a restart if the package was not
# imported before. Restart the kernel otherwise.

# %% tags=["raises-exception"]
# %pip install --quiet humanize
import humanize

print(humanize.intword(1_234_567))

# %% [markdown]
# If the cell above failed: the node reaches no package index. The users' guide, "Your packages",
# says what to do then, and how to make an environment of your own with other versions.
#
# ## The file
#
# Delete this cell when you have your own file.

# %%
load_wine(as_frame=True).frame.to_csv("wines.csv", index=False)

# %% [markdown]
# These are the lines to change: the file, and the column to predict. All other columns are used to
# predict it.
#
# **A file from Excel** often has semicolons between columns, commas in numbers, and letters such as
# ü in an encoding of Windows. Then one column holds all, numbers are text, or a
# `UnicodeDecodeError` comes: `pd.read_csv(FILE, sep=";", decimal=",", encoding="cp1252")` reads it.

# %%
FILE = "wines.csv"
TARGET = "target"

table = pd.read_csv(FILE)
print(f"{FILE}: {Path(FILE).stat().st_size / 1e3:,.0f} KB, {len(table):,} rows")
table.describe().T[["count", "mean", "std", "min", "max"]].round(2)

# %% [markdown]
# **Look before you train.** A `count` that is lower than the number of rows is a column with
# missing values. Columns of text are not in this list: `pd.get_dummies` makes a column of 0 and 1
# for each of their values.

# %%
inputs = pd.get_dummies(table.drop(columns=TARGET), dtype=float)
classes, labels = sorted(table[TARGET].unique()), table[TARGET].astype("category").cat.codes
print(f"{inputs.shape[1]} columns to predict {len(classes)} classes:")
print(table[TARGET].value_counts().to_string())

# %% [markdown]
# ## Three parts
#
# 60 % to train, 20 % to validate, 20 % to test, each with the same share of each class. Means and
# spreads come from the training part alone: the other two stand for data that you have not seen.

# %%
rows, test_rows = train_test_split(table.index, test_size=0.2, stratify=labels, random_state=1)
train_rows, validation_rows = train_test_split(
    rows, test_size=0.25, stratify=labels[rows], random_state=1
)
mean, spread = inputs.loc[train_rows].mean(), inputs.loc[train_rows].std()
standardized = ((inputs - mean) / spread).fillna(0)  # a missing value becomes the mean


def tensors(rows):
    return (
        torch.tensor(standardized.loc[rows].to_numpy(), dtype=torch.float32, device=device),
        torch.tensor(labels[rows].to_numpy(), dtype=torch.long, device=device),
    )


train, validation, test = tensors(train_rows), tensors(validation_rows), tensors(test_rows)

# %% [markdown]
# ## The network and its training
#
# `weight_decay` keeps the weights small, which matters for tables of a few hundred rows.

# %%
torch.manual_seed(1)
model = nn.Sequential(
    nn.Linear(inputs.shape[1], 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, len(classes))
).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=1e-2)

curves = {"training": [], "validation": []}
for _ in range(60):
    model.train()
    for batch in torch.randperm(len(train[0]), device=device).split(32):
        optimizer.zero_grad()
        cross_entropy(model(train[0][batch]), train[1][batch]).backward()
        optimizer.step()
    model.eval()
    with torch.inference_mode():
        for name, (x, y) in {"training": train, "validation": validation}.items():
            curves[name].append(cross_entropy(model(x), y).item())

# %% tags=["gallery"]
_, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
for (name, losses), colour in zip(curves.items(), ("#9aa5b1", "#0b6bcb"), strict=True):
    axis.plot(range(1, len(losses) + 1), losses, color=colour, label=name)
axis.set(xlabel="epoch", ylabel="loss", ylim=(0, None))
axis.legend(frameon=False)
axis.spines[["top", "right"]].set_visible(False)

# %% [markdown]
# If the validation loss rises while the training loss falls, the network learns the training rows
# by heart: fewer epochs, fewer units, more weight decay or more rows help.
#
# ## The test, and the predictions as a file

# %%
with torch.inference_mode():
    probabilities = model(test[0]).softmax(dim=1)
accuracy = (probabilities.argmax(dim=1) == test[1]).float().mean().item()
print(f"Test accuracy: {accuracy:.4f} of {len(test_rows)} rows")

predictions = table.loc[test_rows].copy()
predictions["predicted"] = [classes[code] for code in probabilities.argmax(dim=1).tolist()]
predictions["probability"] = probabilities.max(dim=1).values.cpu().numpy().round(3)
predictions.to_csv("predictions.csv", index=False)
predictions[[TARGET, "predicted", "probability"]].head()

# %% [markdown]
# With so few test rows, one of them more or less moves the accuracy by some points. Download
# `predictions.csv` with a right click in the file browser.
#
# **If the file is large**, write it once as Parquet, `table.to_parquet("wines.parquet")`: that is
# several times smaller and faster to read, and `pd.read_parquet(..., columns=[...])` reads only the
# columns that you need.
#
# **Next:** [models for tables on all cores](../../templates/data/tabular.ipynb),
# [your own images](../../templates/pytorch/images.ipynb).
