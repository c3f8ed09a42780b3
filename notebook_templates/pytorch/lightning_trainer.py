# ---
# jupyter:
#   kernelspec:
#     display_name: PyTorch
#     language: python
#     name: pytorch
#   portal:
#     packages: [cloudpickle, lightning, matplotlib, numpy, tensorboard, torch]
# ---
# ruff: noqa: D100, D101, D102, D103

# %% [markdown]
# # Lightning in a session: one GPU, then all of them
#
# Trains a network to read digits with Lightning's `Trainer`, which brings the loop, checkpoints,
# early stopping and logs, and loads the best checkpoint. Then the same model on all GPUs of the
# session, with the line that Lightning needs in a Slurm job.
#
# | | |
# |---|---|
# | **Data** | 10,000 digits of MNIST: 7,000 to train, 1,000 to validate, 2,000 to test |
# | **Time** | one minute on 2 cores |
# | **Devices** | one GPU of the session, then all of them; cores if simulated |

# %%
import logging
import sys
import warnings
from pathlib import Path

import lightning
import numpy as np
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from lightning.pytorch.loggers import TensorBoardLogger
from lightning.pytorch.plugins.environments import LightningEnvironment, TorchElasticEnvironment
from lightning.pytorch.strategies import DDPStrategy
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

sys.path += [str(Path("../shared").resolve()), str(Path.home() / "templates/shared")]
from lesson import digits_path, draw_curves

from dsportal import run

print(f"Lightning {lightning.__version__}, PyTorch {torch.__version__}")

# %% [markdown]
# ## Data and model
#
# A `LightningDataModule` has the loaders, a `LightningModule` the network, what a step computes,
# and the optimizer. Neither knows how many GPUs there are: Lightning moves batches to the right one
# and gives each its own part of the images.


# %%
class Digits(lightning.LightningDataModule):
    def __init__(self, batch_size=64):
        super().__init__()
        self.batch_size = batch_size

    def setup(self, stage):
        with np.load(digits_path()) as file:
            images, labels = file["x"], file["y"]
        order = np.random.default_rng(1).permutation(len(images))
        images = torch.from_numpy(images[order]).unsqueeze(1).float() / 255
        labels = torch.from_numpy(labels[order]).long()
        parts = (slice(7_000), slice(7_000, 8_000), slice(8_000, None))
        self.parts = [TensorDataset(images[part], labels[part]) for part in parts]

    def train_dataloader(self):
        return DataLoader(self.parts[0], self.batch_size, shuffle=True, drop_last=True)

    def val_dataloader(self):
        return DataLoader(self.parts[1], 250)

    def test_dataloader(self):
        return DataLoader(self.parts[2], 250)


class Reader(lightning.LightningModule):
    def __init__(self, width=32, rate=1e-3):
        super().__init__()
        self.save_hyperparameters()  # so that a checkpoint knows how to build the network
        self.network = nn.Sequential(
            nn.Conv2d(1, width, 3),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Dropout(0.4),
            nn.Linear(2 * width * 25, 10),
        )

    def training_step(self, batch, number):
        images, labels = batch
        loss = cross_entropy(self.network(images), labels)
        self.log("loss", loss)
        return loss

    def _measure(self, name, batch):
        images, labels = batch
        right = (self.network(images).argmax(dim=1) == labels).float().mean()
        # sync_dist: the mean over all GPUs
        self.log(name, right, sync_dist=True)

    def validation_step(self, batch, number):
        self._measure("validation", batch)

    def test_step(self, batch, number):
        self._measure("accuracy", batch)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.rate)


# %% [markdown]
# ## One GPU
#
# A session is a Slurm job, and so Lightning takes the notebook for one of several tasks that
# `srun` has started. `LightningEnvironment()` says that it is not.
#
# `logs` opens in TensorBoard. On GPUs from A100 on, `precision="bf16-mixed"` is faster.

# %%
QUIET = {"enable_progress_bar": False, "enable_model_summary": False}


def prepare():
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    # Advice that is for others: to start processes that read images, which are in memory here, and
    # to start the notebook with srun. The last one is about Lightning's own code.
    warnings.filterwarnings("ignore", ".*(many workers|srun|treespec).*")
    if not torch.cuda.is_available():
        torch.set_num_threads(1)  # one core for each process, as a GPU would be its own
    lightning.seed_everything(1, verbose=False)


class Epochs(lightning.Callback):
    """Prints and keeps the validation accuracy of each epoch."""

    def __init__(self):
        self.accuracies = []

    def on_train_epoch_end(self, trainer, module):
        self.accuracies.append(trainer.callback_metrics["validation"].item())
        if trainer.is_global_zero:
            number, accuracy = len(self.accuracies), self.accuracies[-1]
            print(f"Epoch {number}  validation accuracy {accuracy:.4f}", flush=True)


prepare()
best = ModelCheckpoint("checkpoints", monitor="validation", mode="max")
epochs = Epochs()
trainer = lightning.Trainer(
    max_epochs=6,
    devices=1,
    plugins=[LightningEnvironment()],
    callbacks=[best, epochs, EarlyStopping("validation", mode="max", patience=2)],
    logger=TensorBoardLogger("logs", name="lightning"),
    **QUIET,
)
data = Digits()
trainer.fit(Reader(), data)

# %% [markdown]
# ## The best checkpoint
#
# A checkpoint has weights, optimizer, epoch and the arguments of the network.
# `trainer.fit(model, data, ckpt_path="last")` continues a training that was interrupted.

# %%
print(f"The best of {len(epochs.accuracies)} epochs: {Path(best.best_model_path).name}")
model = Reader.load_from_checkpoint(best.best_model_path, weights_only=True)
(measured,) = trainer.test(model, data, verbose=False)
print(f"Test accuracy: {measured['accuracy']:.4f}")

# %% [markdown]
# ## All GPUs of the session
#
# `run` starts a rank for each GPU, as `torchrun` does, and `TorchElasticEnvironment` tells
# Lightning so. With `nodes=2` the same function trains over two nodes. What a checkpoint folder is
# to hold, rank 0 writes alone.
#
# Lightning's own `strategy="ddp_notebook"` copies this process instead. That works only before
# anything has used a GPU, and on one node.


# %%
def train(epochs):
    import os

    n_here = int(os.environ["LOCAL_WORLD_SIZE"])
    prepare()
    followed = Epochs()
    trainer = lightning.Trainer(
        max_epochs=epochs,
        devices=n_here,
        num_nodes=int(os.environ["WORLD_SIZE"]) // n_here,
        strategy=DDPStrategy(cluster_environment=TorchElasticEnvironment()),
        callbacks=[followed],
        logger=False,
        enable_checkpointing=False,
        **QUIET,
    )
    trainer.fit(Reader(rate=1e-3 * trainer.world_size), Digits())
    return {
        "rank": trainer.global_rank,
        "steps": trainer.global_step,
        "validation": followed.accuracies,
    }


ranks = run(train, 4, results="all")
for rank in ranks:
    print(f"rank {rank['rank']}: {rank['steps']} steps, validation {rank['validation'][-1]:.4f}")

# %% [markdown]
# With two GPUs, an epoch has half as many steps, each on twice as many images. Whether that is
# faster depends on the length of a step: [distributed](../../templates/pytorch/distributed.ipynb)
# measures it for a network like this one.

# %% tags=["gallery"]
draw_curves(
    {"one GPU": epochs.accuracies, f"{len(ranks)} GPUs": ranks[0]["validation"]},
)

# %% [markdown]
# **Next:** [how many GPUs should my training use?](../../templates/scaling/study.ipynb)
