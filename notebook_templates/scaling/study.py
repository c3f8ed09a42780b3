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
# | **Data** | 10,000 real digits of MNIST in `isilon`; replace them with your own |
# | **Time** | about one minute on 2 cores, and the two-node job's time in the queue |
# | **Devices** | 2 GPUs of the session, then one GPU on each of two nodes; cores if simulated |
#
# Choose *Run*, *Restart Kernel and Run All Cells*; then put your model into the cell below.

# %%
import os
import sys
from pathlib import Path

sys.path.append("../shared")

from digits_data import load_digits
from digits_torch import describe_devices
from study_pictures import draw_batch_sizes, draw_prediction, draw_speedup

from dsportal.study import scaling

# Ranks on cores get one each, so that like is compared with like; 0 is what the run gives them.
THREADS = (1,) if os.environ.get("PORTAL_GPUS_SIMULATED") == "1" else (0,)
print(describe_devices())

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
    from digits_torch import choose_device, make_model, to_tensors
    from torch.nn.functional import cross_entropy
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group()
    # ---------------------------------------------------------------- your model and your data
    digits = load_digits()
    images, labels = to_tensors(digits.train_images, digits.train_labels)
    model = DistributedDataParallel(make_model().to(choose_device()))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    # ----------------------------------------------------------------------------------------
    is_mixed = precision == "mixed"

    def step():
        batch = torch.randint(len(images), (batch_size,), device=images.device)
        optimizer.zero_grad()
        with torch.autocast(images.device.type, torch.bfloat16, enabled=is_mixed):
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

# %% [markdown]
# ## More GPUs
#
# A model of the step time, which consists of computation and the ring all-reduce of the gradients,
# is fitted to the points above. With few points the band is wide: measure on more GPUs before you
# rely on the far end.

# %%
advice = ranks.advice(images_per_epoch=8_000)
advice

# %%
draw_prediction(advice)

# %% [markdown]
# ## One page to keep or send
#
# Tables and plots in one HTML file; open it in the file browser.

# %%
print(ranks.report())
