# ---
# jupyter:
#   kernelspec:
#     display_name: PyTorch
#     language: python
#     name: pytorch
#   portal:
#     packages: [matplotlib, mlflow-skinny, numpy, pandas, tensorboard, torch]
# ---
# ruff: noqa: D100, D103

# %% [markdown]
# # Keep track of trainings: MLflow beside TensorBoard
#
# Trains one network with four settings and logs each training twice: TensorBoard has the curves and
# what happens inside, MLflow the settings, the results and the files that came out. Then it asks
# MLflow which training was best, and takes that one's network back from it.
#
# | | |
# |---|---|
# | **Data** | 10,000 digits of MNIST: 7,000 to train, 1,000 to validate, 2,000 to test |
# | **Time** | about one minute on 2 cores |
# | **Devices** | one GPU of the session; its cores if the GPUs are simulated |
#
# One GPU: the four trainings do not need each other. To train them at the same time, each on a GPU
# of its own, see [a search](../../templates/pytorch/search.ipynb).

# %%
import logging
import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt
import mlflow
import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.tensorboard import SummaryWriter

sys.path += [str(Path("../shared").resolve()), str(Path.home() / "templates/shared")]
from lesson import digits_path

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
if device.type == "cpu":
    torch.set_num_threads(1)  # steps this short gain nothing from threads that wait for each other

# %% [markdown]
# ## Which one for what?
#
# | question | look in |
# |---|---|
# | Does this training learn, or has it gone wrong? | TensorBoard, while it runs |
# | What do weights and gradients look like? | TensorBoard's histograms |
# | With which settings was 0.973 reached, and when? | MLflow's table |
# | Where is the network of that training? | MLflow's files |
#
# In a session MLflow writes to `mlruns` in your home, or to your site's server. An *experiment*
# collects trainings that are to be compared.

# %%
logging.getLogger("mlflow").setLevel(logging.WARNING)  # not that it makes a new experiment
mlflow.set_experiment("digits")
print("MLflow:", mlflow.get_tracking_uri())

LOGS = Path("logs")
with np.load(digits_path()) as file:
    images = torch.from_numpy(file["x"]).unsqueeze(1).float().div(255).to(device)
    labels = torch.from_numpy(file["y"]).long().to(device)
order = torch.randperm(len(images), generator=torch.Generator().manual_seed(1)).to(device)
train, validation, test = (
    (images[part], labels[part]) for part in (order[:7_000], order[7_000:8_000], order[8_000:])
)

# %% [markdown]
# ## A training that logs
#
# Each step costs more time to log than to compute if you log too often: the loss goes out each
# tenth step, histograms once an epoch. MLflow's `log_params` takes the settings as they are, and
# `log_artifact` copies a file.


# %%
def make_network(width):
    return nn.Sequential(
        nn.Conv2d(1, width, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(width, 2 * width, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(2 * width * 25, 10),
    ).to(device)


@torch.inference_mode()
def accuracy_of(network, part):
    x, y = part
    return (network(x).argmax(dim=1) == y).float().mean().item()


def train_and_log(settings, epochs=3):
    name = f"rate {settings['rate']}, width {settings['width']}"
    torch.manual_seed(1)
    network = make_network(settings["width"])
    optimizer = torch.optim.Adam(network.parameters(), lr=settings["rate"])
    x, y = train
    step, logging_s, began = 0, 0.0, time.perf_counter()
    with mlflow.start_run(run_name=name) as started, SummaryWriter(LOGS / name) as board:
        mlflow.log_params({**settings, "epochs": epochs})
        for epoch in range(1, epochs + 1):
            for batch in torch.randperm(len(x), device=device).split(64):
                optimizer.zero_grad()
                loss = cross_entropy(network(x[batch]), y[batch])
                loss.backward()
                optimizer.step()
                step += 1
                if step % 10 == 0:
                    asked = time.perf_counter()
                    board.add_scalar("loss", loss.item(), step)
                    logging_s += time.perf_counter() - asked
            asked = time.perf_counter()
            accuracy = accuracy_of(network, validation)
            board.add_scalar("validation", accuracy, step)
            board.add_histogram("first layer", network[0].weight, step)
            mlflow.log_metrics({"loss": loss.item(), "validation": accuracy}, step=epoch)
            logging_s += time.perf_counter() - asked
        torch.save(network.state_dict(), "network.pt")
        mlflow.log_artifact("network.pt")
        # The way from one to the other.
        mlflow.set_tag("tensorboard", str((LOGS / name).absolute()))
    seconds = time.perf_counter() - began
    print(f"{name:22}  validation {accuracy:.4f}  {seconds:.1f} s, {logging_s:.1f} s of it logging")
    return started.info.run_id


SETTINGS = [
    {"rate": 0.0003, "width": 16},
    {"rate": 0.003, "width": 16},
    {"rate": 0.003, "width": 32},
    {"rate": 0.03, "width": 32},
]
run_ids = [train_and_log(settings) for settings in SETTINGS]

# %% [markdown]
# ## Look at them
#
# * TensorBoard: the link of the next cell, or select `logs` in the file browser and press the
#   TensorBoard button.
# * MLflow: "MLflow" in the launcher, if your site has its pages.

# %% tags=["raises-exception"]
# %tensorboard --logdir logs

# %% [markdown]
# ## Ask MLflow
#
# `search_runs` gives a pandas table of all trainings of the experiment, those of last week, too.
# Here only those of this notebook are asked for.

# %%
found = mlflow.search_runs(experiment_names=["digits"])
found = found[found.run_id.isin(run_ids)].sort_values("metrics.validation", ascending=False)
columns = ["tags.mlflow.runName", "params.rate", "params.width", "metrics.validation"]
found[columns].reset_index(drop=True)

# %% tags=["gallery"]
client = mlflow.MlflowClient()
_, (left, right) = plt.subplots(1, 2, figsize=(9, 2.8), layout="constrained")
for row in found.itertuples():
    points = client.get_metric_history(row.run_id, "validation")
    name = client.get_run(row.run_id).info.run_name
    left.plot([p.step for p in points], [p.value for p in points], marker=".", label=name)
left.set(xlabel="epoch", ylabel="validation accuracy", xticks=[1, 2, 3])
left.legend(frameon=False, fontsize=8)
rates = found["params.rate"].astype(float)
widths = found["params.width"].astype(float)
right.scatter(rates, found["metrics.validation"], s=4 * widths, color="#0b6bcb")
right.set(xlabel="learning rate (larger dots: wider networks)", xscale="log")
for axis in (left, right):
    axis.spines[["top", "right"]].set_visible(False)

# %% [markdown]
# ## Take the best one back, test it once

# %%
best = found.iloc[0]
path = mlflow.artifacts.download_artifacts(run_id=best.run_id, artifact_path="network.pt")
network = make_network(int(best["params.width"]))
network.load_state_dict(torch.load(path, weights_only=True))
kept = abs(accuracy_of(network, validation) - best["metrics.validation"]) < 1e-6
print(f"The network of '{best['tags.mlflow.runName']}' is as good as when it was logged: {kept}")
print(f"Test accuracy: {accuracy_of(network, test):.4f}")

# %% [markdown]
# `mlflow.autolog()` before Keras' `fit`, and `report_to="mlflow"` of Hugging Face's `Trainer`, log
# by themselves. On the ranks of `run`, start MLflow's run on rank 0 alone.
#
# **Next:** [a search](../../templates/pytorch/search.ipynb).
