# ---
# jupyter:
#   kernelspec:
#     display_name: PyTorch
#     language: python
#     name: pytorch
#   portal:
#     packages: [cloudpickle, matplotlib, numpy, torch]
# ---
# ruff: noqa: B018, D100, D103

# %% [markdown]
# # How many GPUs should my training use?
#
# Measures your own training step on one GPU, on two of one node and on one of each of two nodes,
# finds the batch size that fills a GPU, and predicts what more GPUs would bring.
#
# | | |
# |---|---|
# | **Data** | 10,000 digits of MNIST; replace them with your own |
# | **Time** | about one minute on 2 cores, and the two-node job's time in the queue |
# | **Devices** | 2 GPUs of the session, then one GPU on each of two nodes; cores if simulated |
#
# Choose *Run*, *Restart Kernel and Run All Cells*; then put your model into the cell below.

# %%
import os
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np

sys.path += [str(Path("../shared").resolve()), str(Path.home() / "templates/shared")]
from lesson import digits_path
from study_pictures import draw_batch_sizes, draw_prediction, draw_speedup

from dsportal.study import scaling

# Ranks on cores get one each, so that like is compared with like; 0 is what the run gives them.
IS_SIMULATED = os.environ.get("PORTAL_GPUS_SIMULATED") == "1"
THREADS = (1,) if IS_SIMULATED else (0,)
if IS_SIMULATED:
    print("The GPUs here are simulated: the study measures cores.")

# %% [markdown]
# ## Your training step
#
# The study calls this function once on every rank and gets back a function that makes one step. To
# measure your own model, change the code between the two lines. It works the same with Keras and
# Horovod: call `hvd.init()` and return a function that calls `model.train_on_batch`. For ResNet50,
# InceptionV3, VGG16 and AlexNet, give `scaling` the name, such as `"resnet50"`, from the TensorFlow
# kernel.


# %%
def make_step(batch_size, precision):
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.nn.functional import cross_entropy
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    # ---------------------------------------------------------------- your model and your data
    with np.load(digits_path()) as file:
        images = torch.from_numpy(file["x"]).unsqueeze(1).float().div(255).to(device)
        labels = torch.from_numpy(file["y"]).long().to(device)
    network = nn.Sequential(
        nn.Conv2d(1, 32, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * 5 * 5, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    )
    model = DistributedDataParallel(network.to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    # ----------------------------------------------------------------------------------------
    is_mixed = precision == "mixed"

    def step():
        batch = torch.randint(len(images), (batch_size,), device=device)
        optimizer.zero_grad()
        with torch.autocast(device.type, torch.bfloat16, enabled=is_mixed):
            loss = cross_entropy(model(images[batch]), labels[batch])
        loss.backward()
        optimizer.step()
        loss.item()  # waits for the GPU

    return step


# %% [markdown]
# ## Ranks and nodes
#
# "2x1" is 2 nodes with 1 rank each. Every rank keeps its batch (weak scaling); `scaling="strong"`
# shares one batch among the ranks. The first steps are left out. Figures are kept in `studies` in
# this folder: a study that was stopped continues. Delete `studies` to measure again.

# %%
ranks = scaling(
    make_step,
    shapes=("1x1", "1x2", "2x1"),
    batch_sizes=(128,),
    threads=THREADS,
    steps=15,
    folder=Path("studies/ranks").absolute(),
)
ranks

# %% tags=["gallery"]
draw_speedup(ranks)

# %% [markdown]
# ## Batch sizes
#
# Larger batches use a GPU better, until it is full or its memory is. `precisions=("fp32", "mixed")`
# and `threads=(1, 2, 4)` would be swept in the same way.

# %%
batches = scaling(
    make_step,
    shapes=("1x1",),
    batch_sizes=(8, 32, 128, 512),
    threads=THREADS,
    steps=8,
    folder=Path("studies/batches").absolute(),
)
draw_batch_sizes(batches)
rates = [row.images_per_s for row in batches.measurements]
if max(row.spread / row.images_per_s for row in batches.measurements) > 0.2:
    print("The steps differ by more than 20 %: something else runs here. Measure again later.")
if any(later < 0.9 * earlier for earlier, later in pairwise(rates)):
    print("A larger batch was slower than a smaller one: do not choose a batch size by this curve.")

# %% [markdown]
# ## More GPUs
#
# A model of the step time, which consists of computation and the ring all-reduce of the gradients,
# is fitted to the points above. With few points the band is wide: measure on more GPUs before you
# rely on the far end. The advice is no better than the points.

# %%
advice = ranks.advice(images_per_epoch=8_000)
spread = max(row.spread / row.images_per_s for row in ranks.measurements)
if spread > 0.2:
    print(f"The steps differ by up to {spread:.0%}: doubt the advice, and measure again later.")
advice

# %%
draw_prediction(advice)

# %% [markdown]
# ## One page to keep or send
#
# Tables and plots in one HTML file; open it in the file browser.

# %%
print(ranks.report())
