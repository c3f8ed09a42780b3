# ---
# jupyter:
#   kernelspec:
#     display_name: TensorFlow
#     language: python
#     name: tensorflow
#   portal:
#     packages: [cloudpickle, horovod, keras>=3, matplotlib, numpy, tensorflow]
# ---
# ruff: noqa: D100

# %% [markdown]
# # Training on several nodes
#
# To use more GPUs than one node or your session has, add one argument: `nodes=2`. The training
# becomes a separate Slurm job that waits in the queue, runs while you do other things, and
# continues when you close the browser.
#
# | | |
# |---|---|
# | **Data** | 10,000 real digits of MNIST in `isilon`: 8,000 for training, 2,000 for testing |
# | **Time** | less than a minute with 2 ranks on 2 cores, and the time in the queue |
# | **Devices** | one GPU on each of two nodes, in addition to those of the session |

# %%
import sys

sys.path.append("../shared")

from charts import draw_bars, draw_lines, panels
from digits_ranks import train_digits

from dsportal import attach, run, runs

# %% [markdown]
# ## Start it
#
# `train_digits` is the converted training of `templates/horovod/convert.ipynb`; nothing in it knows
# how many nodes there are. `wait=False` returns at once. Without it the cell would say why the job
# waits, then show what rank 0 prints, and the interrupt button would stop the job.

# %%
training = run(train_digits, epochs=3, gpus=2, nodes=2, results="all", wait=False)
runs()

# %% [markdown]
# ## Come back to it
#
# Tomorrow, in another notebook, `runs()` lists your runs and `attach` finds one by part of its
# name. `wait()` shows its output from the start and returns what the ranks returned.

# %%
training = attach(training.id)
ranks = training.wait()

# %% [markdown]
# ## Who did what
#
# Each rank trained on a different half of the images, on a different node. Since the gradients were
# averaged over the network at each step, all weights are equal.

# %%
print("rank  node        images  images/s  checksum of the weights")
for rank in ranks:
    print("{rank:4}  {node:10}  {images:6,}  {images/s:8,.0f}  {weights:>23}".format(**rank))
n_different = len({rank["weights"] for rank in ranks})
print("All ranks have equal weights." if n_different == 1 else "The weights differ!")

# %% tags=["gallery"]
left, right = panels(2, height=2.8)
speeds = {f"rank {rank['rank']}, {rank['node']}": rank["images/s"] for rank in ranks}
draw_bars(left, speeds, xlabel="images/s")
accuracies = ranks[0]["accuracies"]
epochs = range(1, len(accuracies) + 1)
right.set_xticks(epochs)
draw_lines(right, {"test": (epochs, accuracies)}, xlabel="epoch", ylabel="test accuracy")

# %% [markdown]
# ## More options
#
# | | |
# |---|---|
# | `training.output(1)` | what rank 1 printed; also in `~/portal-runs` |
# | `training.stop()` | stops it |
# | `run(..., hours=2)` | a shorter limit; short jobs often start earlier |
# | `run(..., resume=True)` | continues from checkpoints: `templates/tensorflow/resume.ipynb` |
# | `hvd.callbacks.ProgressCallback(64)` | one bar for all ranks in the cell |
#
# **How many nodes?** Ask `templates/scaling`: it measures your model and says how many GPUs are
# worth using.

# %%
print(training.output(1)[-200:] or "Rank 1 printed nothing, as it should.")
print(f"Figure: accuracy = {accuracies[-1]:.4f}")
